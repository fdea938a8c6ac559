"""What an input_fn gives: features and labels, and the hooks that its input needs."""

import inspect

from millrace._graph.default_graph import device
from millrace._supervised.hook import SessionRunHook


class InitializerHook(SessionRunHook):
    """Initializes the iterator of a data set in each session."""

    def __init__(self, iterator):
        self._iterator = iterator

    def begin(self):
        self._initializer = self._iterator.initializer

    def after_create_session(self, session, coord):
        session.run(self._initializer)


def argument_names(function):
    """The names of a function's arguments."""
    return tuple(inspect.signature(function).parameters)


def called_input_fn(input_fn, mode, params, config):
    """(features, labels, hooks) of an input_fn, called with those of these arguments that it names.

    Raises:
      ValueError: if it returns a tuple of another length.
    """
    known = {"mode": mode, "params": params, "config": config}
    names = argument_names(input_fn)
    with device("/cpu:0"):
        result = input_fn(**{name: value for name, value in known.items() if name in names})
        hooks = []
        if hasattr(result, "make_initializable_iterator"):
            iterator = result.make_initializable_iterator()
            hooks.append(InitializerHook(iterator))
            result = iterator.get_next()
    if isinstance(result, (list, tuple)):
        if len(result) != 2:
            raise ValueError(
                "input_fn should return (features, labels) as a len 2 tuple, or the features alone; "
                f"it returned {len(result)} things."
            )
        return result[0], result[1], hooks
    return result, None, hooks

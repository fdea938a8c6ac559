"""variable_creator_scope: functions of the program that have a say when variables are made."""

import contextlib
import inspect

from millrace._graph.graph import get_default_graph


class _Creators:
    """Those of one graph, the outermost first."""

    def __init__(self):
        self.stack = []


class MadeByCreators(type):
    """The type of classes whose objects the program's functions may make, or change before they are made.

    A class of it has `asks_creators`, True for the one that programs name.
    """

    def __call__(cls, *args, **kwargs):
        def make(**arguments):
            return type.__call__(cls, **arguments)

        stack = (
            get_default_graph().own(_Creators).stack if cls.__dict__.get("asks_creators") else []
        )
        if not stack or kwargs.get("variable_def") is not None:
            return type.__call__(cls, *args, **kwargs)
        given = inspect.signature(cls.__init__).bind_partial(None, *args, **kwargs).arguments
        given = {name: value for name, value in list(given.items())[1:]}
        for creator in stack:
            make = _asking(creator, make)
        return make(**given)


def creators_of(graph):
    """The functions that have a say in a graph now, a list, the outermost first."""
    return list(graph.own(_Creators).stack)


def put_creators(graph, creators):
    """Has these functions asked in a graph, in place of those that creators_of gives."""
    graph.own(_Creators).stack[:] = creators


def _asking(creator, following):
    return lambda **arguments: creator(following, **arguments)


@contextlib.contextmanager
def variable_creator_scope(variable_creator):
    """A `with` block in which a function makes the variables of the default graph.

    Args:
      variable_creator: called with (next_creator, **arguments of tf.Variable); gives a variable, mostly
        `next_creator(**arguments)` with some of them changed. The innermost block's is asked first.
    """
    stack = get_default_graph().own(_Creators).stack
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.pop()

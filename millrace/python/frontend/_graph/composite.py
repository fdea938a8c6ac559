"""Values of several Tensors that programs handle as one, such as ragged tensors: what the graph, its functions
and sessions need of them, whoever defines them."""

import functools


class Composite:
    """A value that is made of Tensors and is none itself."""

    def component_tensors(self):
        """The Tensors that it is made of, in an order that stays."""
        raise NotImplementedError

    def fetched(self, values):
        """What session.run returns for it, given the values of `component_tensors`."""
        raise NotImplementedError

    def fed(self, value):
        """The values of `component_tensors`, given what is fed for it.

        Raises:
          TypeError: if that is nothing that could be.
        """
        raise NotImplementedError

    def take_call(self, name, function, args, kwargs):
        """What a call gives that has it among its arguments and that Tensors alone can't answer.

        Args:
          name: of the function, or of the op.
          function: takes Tensors in the place of composites.
          args, kwargs: as they were given.

        Raises:
          TypeError: if there is no such thing.
        """
        raise NotImplementedError


def composite_among(values):
    """The first Composite in nested lists, tuples and dictionaries; None if there is none."""
    for value in values:
        if isinstance(value, Composite):
            return value
        if isinstance(value, (list, tuple)):
            found = composite_among(value)
            if found is not None:
                return found
        elif isinstance(value, dict):
            found = composite_among(value.values())
            if found is not None:
                return found
    return None


def takes_composites(function):
    """A function of Tensors, which leaves calls that it refuses to a Composite among the arguments.

    Tensors are tried first, so that calls without composites cost nothing.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            taker = composite_among((*args, *kwargs.values()))
            if taker is None:
                raise
        # Not inside of `except`: an error would be shown as one that came of the other.
        return taker.take_call(function.__name__, function, args, kwargs)

    return call

"""Functions that datasets call with their elements: from Python's functions to functions of graphs."""

from millrace._data import elements
from millrace._data.elements import Nested, Spec
from millrace._graph.function_graph import FunctionGraph
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = ["Traced"]


class Traced:
    """A function of Python as a function of the default graph.

    Args:
      function: what the program gave: takes elements, gives a structure.
      specs: what it is called with: Specs, one for each element.
      kind: the dataset that calls it, for its name.
      returns: called with what the function returned, inside of the function; gives a structure of
        what can be converted.
      from_nested: makes the argument for a component that is a dataset.

    Attributes:
      name: of the function, for an attribute.
      captured: what nodes give it behind its arguments.
      spec: the Spec of what it gives.
      returned: what the program's function returned.
    """

    def __init__(self, function, specs, kind, returns=None, from_nested=None):
        if not callable(function):
            raise TypeError(f"{kind} wants a function, not {function!r}")
        outer = get_default_graph()
        graph = FunctionGraph(outer)
        with graph.as_default():
            arguments = []
            for spec in specs:
                element = _arguments(graph, spec, from_nested)
                arguments.extend(elements.unpacked(element) if len(specs) == 1 else (element,))
            self.returned = function(*arguments)
            value = self.returned if returns is None else returns(self.returned)
            made = elements.converted(_something(value), "result")
            # What has an effect runs with each call, also what nobody reads.
            effects = [op for op in graph.get_operations() if _has_effect(op)]
            name = getattr(function, "__name__", "function")
            self.spec = Spec.of(made)
            results = self.spec.encoded(made)
            self.name = graph.define(f"Dataset_{kind}_{name}", results, effects)
        self.captured = graph.captured

    def check_scalar(self, dtype, what):
        """Raises ValueError unless the function gives one scalar of a type."""
        if (
            self.spec.structure is not Tensor
            or self.spec.types[0] != dtype
            or not self.spec.shapes[0].is_compatible_with(TensorShape([]))
        ):
            raise ValueError(f"{what} must return a scalar {dtypes.as_dtype(dtype).name} tensor.")


def _arguments(graph, spec, from_nested):
    tensors = [graph.add_argument(dtype, shape) for dtype, shape in zip(spec.types, spec.shapes)]
    leaves = [
        from_nested(leaf, kind.spec) if isinstance(kind, Nested) else leaf
        for leaf, kind in zip(
            elements.flatten(spec.pack(tensors)), elements.flatten(spec.structure)
        )
    ]
    return elements.pack(spec.structure, leaves)


def _something(value):
    """What a program's function returned; TypeError if that is nothing."""
    if value is None:
        raise TypeError("a function that a dataset calls returned None; it has to return Tensors")
    return value


def _has_effect(op):
    # What is in a loop runs as often as that does, and nothing outside can wait for it.
    return not op.outputs and op.type != "NoOp" and not op.is_in_loop

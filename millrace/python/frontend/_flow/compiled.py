"""What asks TensorFlow to compile a part of a graph. Nothing is compiled here: it runs as it is, and gives
the same values."""

import contextlib

from millrace._flow.control_flow import group, no_op
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.operation import Operation
from millrace._ops.arrays import identity
from millrace._values import structure


def compile(computation, inputs=None):
    """The outputs of a function of Tensors, built as usual.

    Args:
      computation: the function.
      inputs: a list of its arguments, structures of what converts to Tensors; None for none.

    Returns:
      what it returned, with these changes: one value comes in a tuple, None and Operations alone as one
      Operation; Operations beside Tensors are what all Tensors wait for, and are left out.

    Raises:
      TypeError: if `inputs` is no list.
    """
    if inputs is not None and not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a list, not {type(inputs).__name__}")
    given = [structure.map_structure(convert, each) for each in inputs or []]
    outputs = computation(*given)
    if outputs is None:
        return no_op()
    parts = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    operations = [part for part in parts if isinstance(part, Operation)]
    values = [part for part in parts if not isinstance(part, Operation)]
    if not values:
        return group(*operations)
    with control_dependencies(operations):
        made = [structure.map_structure(lambda leaf: identity(convert(leaf)), v) for v in values]
    if isinstance(outputs, (list, tuple)) and not operations:
        return structure.rebuilt(outputs, made)
    return tuple(made)


@contextlib.contextmanager
def jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """A block whose nodes TensorFlow may compile; here they run as others do.

    Args:
      compile_ops, separate_compiled_gradients: accepted.
    """
    yield

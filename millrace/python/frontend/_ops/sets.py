"""Rows compared: as sets, and as sequences."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.sparse_tensor import SparseTensor, components, is_sparse
from millrace._ops.sparse_layout import to_sparse
from millrace._values import dtypes

__all__ = ["edit_distance"]

_TYPES = (
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint8,
    dtypes.uint16,
    dtypes.string,
)


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """How many elements must be put in, taken out or replaced to make the truth of the hypothesis.

    Args:
      hypothesis, truth: SparseTensors of one type and rank, 2 or more, in row-major order; the sequences
        are along the last axis.
      normalize: True to divide by the length of the truth; then it is inf where the truth is empty and the
        hypothesis is not.
      name: a name for the node.

    Returns:
      a float32 Tensor of their shape without the last axis.

    Raises:
      TypeError: if one is no SparseTensor.
    """
    for value, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not is_sparse(value):
            raise TypeError(f"{what} must be a SparseTensor, not {type(value)}")
    hypothesis, truth = to_sparse(hypothesis), to_sparse(truth)
    return gen_ops.edit_distance(
        *components(hypothesis), *components(truth), normalize=normalize, name=name
    )


def _rows(value, name):
    """A Tensor or SparseTensor of a type that sets are of."""
    value = to_sparse(value) if is_sparse(value) else convert(value, name=name)
    if value.dtype.base_dtype not in _TYPES:
        kinds = ", ".join(kind.name for kind in _TYPES)
        raise TypeError(f"'{name}' has invalid dtype {value.dtype.name}; sets are of {kinds}")
    return value


def set_size(a, validate_indices=True):
    """How many different elements each innermost row of a SparseTensor has.

    Args:
      a: a SparseTensor of rank 2 or more, in row-major order.
      validate_indices: False to let the order be.

    Returns:
      an int32 Tensor of its shape without the last axis.

    Raises:
      TypeError: if it is no SparseTensor, or of a type that has no sets.
    """
    if not is_sparse(a):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return gen_ops.set_size(*components(_rows(a, "a")), validate_indices=validate_indices)


def _combined(a, b, operation, validate_indices):
    a, b = _rows(a, "a"), _rows(b, "b")
    if b.dtype.base_dtype != a.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype.name} vs {b.dtype.name}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        # The op takes the dense one first.
        a, b, operation = b, a, {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    if isinstance(a, SparseTensor):
        combine, inputs = gen_ops.sparse_to_sparse_set_operation, [*components(a), *components(b)]
    elif isinstance(b, SparseTensor):
        combine, inputs = gen_ops.dense_to_sparse_set_operation, [a, *components(b)]
    else:
        combine, inputs = gen_ops.dense_to_dense_set_operation, [a, b]
    made = combine(*inputs, set_operation=operation, validate_indices=validate_indices)
    return SparseTensor(*made)


def set_intersection(a, b, validate_indices=True):
    """What innermost rows of a and b have both, in ascending order.

    Args:
      a, b: Tensors or SparseTensors of one type, rank 2 or more, whose shapes differ in the last size at
        most. SparseTensors are in row-major order.
      validate_indices: False to let the order be.

    Returns:
      a SparseTensor whose innermost rows are the sets.

    Raises:
      TypeError: for types that have no sets, or differ.
    """
    return _combined(a, b, "intersection", validate_indices)


def set_union(a, b, validate_indices=True):
    """What innermost rows of a or b have, in ascending order; otherwise as `set_intersection`."""
    return _combined(a, b, "union", validate_indices)


def set_difference(a, b, aminusb=True, validate_indices=True):
    """What innermost rows of a have and those of b lack; the other way round unless `aminusb`.

    Otherwise as `set_intersection`.
    """
    return _combined(a, b, "a-b" if aminusb else "b-a", validate_indices)

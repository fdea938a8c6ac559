"""The shape of a sparse tensor made larger, or as small as its elements allow."""

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_equal, assert_less_equal
from millrace._flow.control_flow import with_dependencies
from millrace._graph.conversion import constant_value, convert
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.sparse_layout import to_int64, to_sparse
from millrace._values import dtypes


def sparse_reset_shape(sp_input, new_shape=None):
    """A SparseTensor with the same elements in another shape.

    Args:
      sp_input: a SparseTensor.
      new_shape: a vector of sizes, none smaller than those before; None for the smallest that hold
        all elements.

    Raises:
      TypeError: if `sp_input` is no SparseTensor.
      ValueError: if the rank differs or a size is too small; InvalidArgumentError in the step, if
        that is only known then.
    """
    sp_input = to_sparse(sp_input)
    before = gen_ops.identity(sp_input.dense_shape)
    if new_shape is None:
        last = gen_ops.max(sp_input.indices, 0)
        one, zero = convert(1, dtypes.int64), convert(0, dtypes.int64)
        sizes = gen_ops.maximum(zero, gen_ops.add(last, one))
    else:
        sizes = to_int64(new_shape, "new_shape")
        sizes.shape.assert_has_rank(1)
        sizes.shape.dims[0].assert_is_compatible_with(before.shape.with_rank(1).dims[0])
        known = constant_value(sizes)
        if known is not None and sp_input.shape.is_fully_defined():
            dims = sp_input.shape.as_list()
            if any(size < dim for size, dim in zip(known, dims)):
                raise ValueError(
                    "Requested new_shape should have dimension sizes >= sp_input.shape. "
                    f" Found new_shape ({list(known)}), sp_input.shape ({dims})."
                )
            sizes = convert(known, dtypes.int64)
        else:
            same_rank = assert_equal(gen_ops.shape(before), gen_ops.shape(sizes))
            sizes = with_dependencies([same_rank], sizes)
            sizes = with_dependencies([assert_less_equal(before, sizes)], sizes)
    return SparseTensor(
        gen_ops.identity(sp_input.indices), gen_ops.identity(sp_input.values), sizes
    )

"""Elements of several lengths as the rows of SparseTensors."""

from millrace._data.dataset import made
from millrace._data.elements import Spec
from millrace._graph.conversion import constant, convert
from millrace._ops.composite_specs import SparseTensorSpec
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = ["dense_to_sparse_batch"]


def dense_to_sparse_batch(batch_size, row_shape):
    """Groups of elements as SparseTensors, of which each element is a row.

    Args:
      batch_size: how many elements make a group; the last one may have fewer.
      row_shape: the shape of a row, a TensorShape or a list; where it is None or -1 the row is as long as the
        longest of its group. Elements have its rank, and are no larger.

    Returns:
      a function from a dataset of Tensors to one of SparseTensors.

    Raises:
      TypeError: applied, for elements of several components; steps fail with DataLossError for an element
        that is larger.
    """

    def apply(dataset):
        if not isinstance(dataset.output_types, dtypes.DType):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, "
                f"whereas the input has {dataset.output_types!r}."
            )
        row, known = _row(row_shape)
        whole = TensorShape([None]).concatenate(known)
        return made(
            "dense_to_sparse_batch_dataset",
            Spec.from_specs(SparseTensorSpec(whole, dataset.output_types)),
            dataset.variant,
            convert(batch_size, dtypes.int64, name="batch_size"),
            row,
            options=dataset.options(),
        )

    return apply


def _row(shape):
    """(a row's shape as a node takes it, what is known of it)."""
    if isinstance(shape, (list, tuple, TensorShape)):
        given = shape.as_list() if isinstance(shape, TensorShape) else list(shape)
        known = TensorShape([None if dim == -1 else dim for dim in given])
        dims = [-1 if dim is None else dim for dim in known.as_list()]
        return constant(dims, dtypes.int64, shape=[len(dims)], name="row_shape"), known
    row = convert(shape, dtypes.int64, name="row_shape")
    rank = row.shape.with_rank(1)[0].value
    return row, TensorShape(None if rank is None else [None] * rank)

"""Columns of numbers as they are, and of the buckets that numbers fall into."""

import dataclasses
import numbers

import numpy as np

from millrace import _gen as gen_ops
from millrace._columns.column import CategoricalColumn, DenseColumn, IdsAndWeights, check_key
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import one_hot
from millrace._ops.parsing import FixedLenFeature
from millrace._ops.rearranging import bucketize
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


@dataclasses.dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """See numeric_column."""

    key: str
    shape: tuple
    default_value: object
    dtype: dtypes.DType
    normalizer_fn: object

    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self):
        return TensorShape(self.shape)

    def transformed(self, inputs):
        feature = inputs.get(self.key)
        if isinstance(feature, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not "
                f"supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            feature = self.normalizer_fn(feature)
        return cast(feature, dtypes.float32)


def numeric_column(key, shape=(1,), default_value=None, dtype=dtypes.float32, normalizer_fn=None):
    """A column of numbers.

    Args:
      key: of the feature, a Tensor of shape [batch] + shape.
      shape: of an example's numbers: an integer or a list of them, all above 0.
      default_value: for an example that lacks the feature when it is parsed: a number, or nested lists of
        them of that shape; None if it must be there.
      dtype: the type to parse, an integer or floating one.
      normalizer_fn: a function of the feature that gives what is taken in its place.

    Returns:
      a column, dense: float32 of shape [batch] + shape.

    Raises:
      TypeError: if the shape or the default is of another type; ValueError: for sizes below 1, a default of
      another shape, or a type of no numbers.
    """
    check_key(key)
    shape = checked_shape(shape, key)
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(
        key, shape, _default(default_value, shape, dtype, key), dtype, normalizer_fn
    )


def checked_shape(shape, key):
    """The shape as a tuple. TypeError for what is no integer, ValueError for sizes below 1."""
    shape = tuple(shape) if isinstance(shape, (list, tuple, TensorShape)) else (shape,)
    for size in shape:
        if not isinstance(size, numbers.Integral):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return tuple(map(int, shape))


def _default(value, shape, dtype, key):
    """The default as nested tuples of the shape, or None."""
    if value is None:
        return None
    given = np.asarray(value)
    if given.dtype.kind not in "iuf" or given.dtype.kind == "f" and dtype.is_integer:
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, key: "
            f"{key}"
        )
    if given.ndim and given.shape != shape:
        raise ValueError(
            f"The shape of default_value must be equal to given shape. default_value: {value}, shape: "
            f"{shape}, key: {key}"
        )
    kind = int if dtype.is_integer else float
    return _tuples(np.broadcast_to(given, shape).astype(kind).tolist())


def _tuples(nested):
    return tuple(map(_tuples, nested)) if isinstance(nested, list) else nested


@dataclasses.dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """See bucketized_column."""

    source_column: NumericColumn
    boundaries: tuple

    @property
    def name(self):
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self):
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self):
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @property
    def num_buckets(self):
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transformed(self, inputs):
        return bucketize(inputs.get(self.source_column), self.boundaries)

    def dense(self, inputs):
        return one_hot(inputs.get(self), len(self.boundaries) + 1)

    def ids_and_weights(self, inputs):
        buckets = cast(inputs.get(self), dtypes.int64)
        # Each of several numbers has buckets of its own.
        size = self.source_column.shape[0]
        firsts = np.arange(size, dtype=np.int64) * (len(self.boundaries) + 1)
        ids = gen_ops.reshape(buckets + firsts, [-1])
        every = gen_ops.where(gen_ops.fill(gen_ops.shape(buckets), True))
        shape = gen_ops.shape(buckets, out_type=dtypes.int64)
        return IdsAndWeights(SparseTensor(every, ids, shape), None)


def bucketized_column(source_column, boundaries):
    """A column of the buckets that numbers fall into: below the first boundary, from each up to the next,
    from the last on.

    Args:
      source_column: a numeric_column whose shape has one axis.
      boundaries: a list or tuple of numbers, each above the one before.

    Returns:
      a column, both dense (a one for the bucket of each number, of shape [batch] + shape + [boundaries + 1])
      and categorical.

    Raises:
      ValueError: for another source column, or boundaries that are none or in another order.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). Given: "
            f"{source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, (list, tuple)) or not boundaries:
        raise ValueError(f"boundaries must be a sorted list, and not empty. Given: {boundaries}")
    if any(low >= high for low, high in zip(boundaries, boundaries[1:])):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries}")
    return BucketizedColumn(source_column, tuple(map(float, boundaries)))

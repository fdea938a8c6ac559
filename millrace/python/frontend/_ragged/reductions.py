"""Sums, extremes, means of ragged tensors over axes."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, constant_value, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops import reductions
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones_like
from millrace._ops.operators import true_divide
from millrace._ops.reductions import reduce_max
from millrace._ragged.elementwise import same_splits
from millrace._ragged.partitions import splits_of_lengths
from millrace._ragged.tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from millrace._values import dtypes


def _logical(fold):
    def folded(data, ids, count):
        made = fold(cast(data, dtypes.int32), ids, count)
        # The extremes of nothing are those of the type.
        return gen_ops.greater(made, 0)

    return folded


# The function of Tensors -> what folds rows by segments.
_FOLDS = {
    "reduce_sum": gen_ops.unsorted_segment_sum,
    "reduce_prod": gen_ops.unsorted_segment_prod,
    "reduce_min": gen_ops.unsorted_segment_min,
    "reduce_max": gen_ops.unsorted_segment_max,
    "reduce_all": _logical(gen_ops.unsorted_segment_min),
    "reduce_any": _logical(gen_ops.unsorted_segment_max),
}
NAMES = [*_FOLDS, "reduce_mean"]


def reduced(function, args, kwargs):
    """As RaggedTensor.takers have it, for the reductions of NAMES.

    Raises:
      ValueError: for keepdims=True, and for axes that are not known or out of bounds.
    """
    return _Call(function, *args, **kwargs).run()


class _Call:
    """The arguments of a reduction."""

    def __init__(
        self,
        function,
        input_tensor,
        axis=None,
        keepdims=None,
        name=None,
        reduction_indices=None,
        keep_dims=None,
    ):
        if keepdims or keep_dims:
            raise ValueError("keepdims=True is not supported for RaggedTensors.")
        self._function = function
        self._ragged = input_tensor
        self._axis = axis if axis is not None else reduction_indices
        self._name = name

    def run(self):
        name = self._function.__name__
        with name_scope(self._name, "Ragged" + name.title().replace("_", ""), [self._ragged]):
            if self._axis is None and name != "reduce_mean":
                return self._function(self._ragged.flat_values, None)
            if self._axis is None:
                flat = self._ragged.flat_values
                return true_divide(
                    reductions.reduce_sum(flat), reductions.reduce_sum(ones_like(flat))
                )
            axes = _known_axes(self._axis, self._ragged.shape.ndims)
            if name == "reduce_mean":
                return _mean(self._ragged, axes)
            return _over(name, self._ragged, axes)


def _known_axes(axis, rank):
    """The axes from the first to the last, none twice."""
    if hasattr(axis, "_as_tensor"):
        axis = constant_value(convert(axis))
        if axis is None:
            raise ValueError("axis must be known at graph construction time.")
        axis = axis.tolist()
    axes = list(axis) if isinstance(axis, (list, tuple)) else [int(axis)]
    found = set()
    for each in axes:
        at = each if each >= 0 or rank is None else each + rank
        if at < 0 or (rank is not None and at >= rank):
            raise ValueError(f"axis={each} is out of bounds for rank {rank}")
        found.add(at)
    return sorted(found)


def _over(name, tensor, axes):
    """The innermost axis first: those in front of it stay where they are."""
    for axis in reversed(axes):
        tensor = _along(name, tensor, axis)
    return tensor


def _along(name, tensor, axis):
    if not is_ragged(tensor):
        return getattr(reductions, name)(tensor, axis)
    if axis > 1:
        return tensor.with_values(_along(name, tensor.values, axis - 1))
    if axis == 1:
        return _folded(name, tensor.values, tensor.value_rowids(), tensor.nrows())
    # Columns: the values by where in their rows they are.
    dtype = tensor.row_splits.dtype.base_dtype
    lengths = tensor.row_lengths()
    longest = reduce_max(gen_ops.concat_v2([constant([0], dtype), lengths], 0))
    places = gen_ops.ragged_range(constant(0, dtype), lengths, constant(1, dtype), Tsplits=dtype)
    return _folded(name, tensor.values, places[1], longest)


def _folded(name, data, ids, count):
    """The rows of each segment folded; of ragged rows element by element, those that are longer alone."""
    if not is_ragged(data):
        return _FOLDS[name](data, ids, count)
    dtype = data.row_splits.dtype.base_dtype
    lengths = data.row_lengths()
    longest = gen_ops.maximum(gen_ops.unsorted_segment_max(lengths, ids, count), constant(0, dtype))
    splits = splits_of_lengths(longest)
    begin = gen_ops.gather_v2(splits, ids, 0)
    places = gen_ops.ragged_range(
        begin, gen_ops.add(begin, lengths), constant(1, dtype), Tsplits=dtype
    )
    return RaggedTensor(_folded(name, data.values, places[1], splits[-1]), splits)


def _mean(tensor, axes):
    total = _over("reduce_sum", tensor, axes)
    ones = tensor.with_flat_values(ones_like(tensor.flat_values))
    number = _over("reduce_sum", ones, axes)
    if is_ragged(total):
        return total.with_flat_values(true_divide(total.flat_values, number.flat_values))
    return true_divide(total, number)


# The ops that fold rows by segments, by the names of the reductions that do the same.
SEGMENT_OPS = {
    f"UnsortedSegment{name.title()}": f"reduce_{name}" for name in ("sum", "prod", "min", "max")
}


def fold_of(op):
    """As RaggedTensor.takers have it, for one of SEGMENT_OPS: rows of a segment are folded element by element."""

    def take(function, args, kwargs):
        data, ids, count = args
        data = as_ragged_or_tensor(data, name="data")
        ids = as_ragged_or_tensor(ids, name="segment_ids")
        if not is_ragged(ids):
            return _folded(SEGMENT_OPS[op], data, ids, count)
        if not is_ragged(data):
            raise ValueError("Ragged segment_ids need data with the same rows")
        with control_dependencies(same_splits([data.row_splits], [ids.row_splits])):
            return function(data.values, ids.values, count)

    return take

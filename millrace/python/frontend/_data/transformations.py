"""tf.data.experimental: functions from datasets to datasets, for Dataset.apply, and others."""

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.dataset import (
    AUTOTUNE,
    Dataset,
    check_state,
    made,
    seed_tensors,
)
from millrace._data.elements import Nested, Spec
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = [
    "AUTOTUNE",
    "Counter",
    "INFINITE_CARDINALITY",
    "RandomDataset",
    "UNKNOWN_CARDINALITY",
    "batch_and_drop_remainder",
    "bucket_by_sequence_length",
    "cardinality",
    "enumerate_dataset",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "map_and_batch",
    "padded_batch_and_drop_remainder",
    "parallel_interleave",
    "reduce_dataset",
    "scan",
    "shuffle_and_repeat",
    "sloppy_interleave",
    "take_while",
    "unbatch",
    "unique",
]

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def _int64(value, name):
    return convert(value, dtypes.int64, name=name)


def _with(dataset, op, *inputs, spec=None, **attrs):
    return made(
        op, spec or dataset.spec, dataset.variant, *inputs, options=dataset.options(), **attrs
    )


def map_and_batch(
    map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None
):
    """What a function gives for each element, in groups, with several calls under way at once.

    Args:
      map_func: as for Dataset.map.
      batch_size: how many elements make a group.
      num_parallel_batches: how many groups are worked at, at once.
      drop_remainder: True to leave out a last group that is too small.
      num_parallel_calls: how many calls are under way, instead.

    Raises:
      ValueError: if both numbers are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )
    if num_parallel_calls is None:
        num_parallel_calls = batch_size * (num_parallel_batches or 1)

    def apply(dataset):
        function = dataset.traced(map_func, "map_and_batch")
        size, drop = _int64(batch_size, "batch_size"), convert(drop_remainder, dtypes.bool)
        known = size.graph.constant_value(size) if drop_remainder is True else None
        first = None if known is None else int(known)
        return _with(
            dataset,
            "map_and_batch_dataset",
            function.captured,
            size,
            _int64(num_parallel_calls, "num_parallel_calls"),
            drop,
            spec=function.spec.batched(first),
            f=function.name,
            preserve_cardinality=True,
        )

    return apply


def parallel_interleave(
    map_func,
    cycle_length,
    block_length=1,
    sloppy=False,
    buffer_output_elements=None,
    prefetch_input_elements=None,
):
    """Dataset.interleave whose datasets are walked along ahead of their turns; see there."""

    def apply(dataset):
        return dataset.interleave(
            map_func, cycle_length, block_length, num_parallel_calls=cycle_length
        )

    return apply


def sloppy_interleave(map_func, cycle_length, block_length=1):
    """parallel_interleave."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """Dataset.shuffle and then repeat, with elements of several epochs in one buffer."""

    def apply(dataset):
        return _with(
            dataset,
            "shuffle_and_repeat_dataset",
            _int64(buffer_size, "buffer_size"),
            *seed_tensors(seed),
            _int64(-1 if count is None else count, "count"),
        )

    return apply


def unbatch():
    """Dataset.unbatch."""
    return lambda dataset: dataset.unbatch()


def batch_and_drop_remainder(batch_size):
    """Dataset.batch without a last group that is too small."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """Dataset.padded_batch without a last group that is too small."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def enumerate_dataset(start=0):
    """Dataset.enumerate."""
    return lambda dataset: dataset.enumerate(start)


def ignore_errors():
    """The elements that do not fail."""
    return lambda dataset: _with(dataset, "ignore_errors_dataset")


def unique():
    """Each element once, where it comes first; of a type of integers or strings."""
    return lambda dataset: _with(dataset, "unique_dataset")


def take_while(predicate):
    """The elements up to the first for which a function gives False."""

    def apply(dataset):
        function = dataset.traced(predicate, "take_while")
        function.check_scalar(dtypes.bool, "`predicate`")
        return _with(dataset, "take_while_dataset", function.captured, predicate=function.name)

    return apply


def scan(initial_state, scan_func):
    """What a function gives that carries a state from element to element.

    Args:
      initial_state: a structure of Tensors.
      scan_func: called with (state, element); gives (next state, output).

    Raises:
      TypeError: if the function gives something else, or another structure of states.
    """

    def apply(dataset):
        state = elements.converted(initial_state, "state")
        state_spec = Spec.of(state)
        function = dataset.traced(scan_func, "scan", [state_spec.loosened(), dataset.spec])
        structure = function.spec.structure
        if not isinstance(structure, tuple) or len(structure) != 2:
            raise TypeError(
                "The scan function must return a pair comprising the new state and the "
                "output value."
            )
        count = len(state_spec.types)
        spec = function.spec
        check_state(
            state_spec, Spec(structure[0], spec.types[:count], spec.shapes[:count]), "scan_func"
        )
        output = Spec(structure[1], spec.types[count:], spec.shapes[count:])
        return _with(
            dataset,
            "scan_dataset",
            state_spec.encoded(state),
            function.captured,
            spec=output,
            f=function.name,
            preserve_cardinality=True,
        )

    return apply


def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
    """What a function makes of groups of elements that have one key.

    Args:
      key_func: gives a key, a scalar of int64, for an element.
      reduce_func: called with (key, Dataset of a group); gives a Dataset.
      window_size: how many elements make a group.
      window_size_func: gives that for a key, instead.

    Raises:
      ValueError: unless one of the sizes is given, or if a function gives something else.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_func = window_size_func or (lambda key: convert(window_size, dtypes.int64))

    def apply(dataset):
        key_spec = Spec(Tensor, [dtypes.int64], [TensorShape([])])
        group_spec = Spec(Nested(dataset.spec), [dtypes.variant], [TensorShape([])])
        key = dataset.traced(_as_int64(key_func), "group_by_window_key")
        key.check_scalar(dtypes.int64, "`key_func`")
        size = dataset.traced(_as_int64(size_func), "group_by_window_size", [key_spec])
        size.check_scalar(dtypes.int64, "`window_size_func`")
        reduce = dataset.traced(reduce_func, "group_by_window_reduce", [key_spec, group_spec])
        if not isinstance(reduce.returned, Dataset):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        return _with(
            dataset,
            "group_by_window_dataset",
            key.captured,
            reduce.captured,
            size.captured,
            spec=reduce.returned.spec,
            key_func=key.name,
            reduce_func=reduce.name,
            window_size_func=size.name,
        )

    return apply


def _as_int64(function):
    def wrapped(*arguments):
        return convert(function(*arguments), dtypes.int64)

    return wrapped


def bucket_by_sequence_length(
    element_length_func,
    bucket_boundaries,
    bucket_batch_sizes,
    padded_shapes=None,
    padding_values=None,
    pad_to_bucket_boundary=False,
    no_padding=False,
    drop_remainder=False,
):
    """Groups of elements of similar length, padded to the longest of each.

    Args:
      element_length_func: gives the length, a scalar of int32, for an element.
      bucket_boundaries: lengths at which a new bucket begins, ascending.
      bucket_batch_sizes: the size of groups of each bucket: one more than there are boundaries.
      padded_shapes, padding_values, drop_remainder: as for Dataset.padded_batch.
      pad_to_bucket_boundary: True to pad to one less than the bucket's end instead.
      no_padding: True to batch elements as they are.

    Raises:
      ValueError: if the numbers of boundaries and sizes do not fit.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    sizes = list(bucket_batch_sizes)

    def bucket_of(*arguments):
        length = convert(element_length_func(*arguments))
        bounds = convert(list(bucket_boundaries), length.dtype)
        at_least = gen_ops.greater_equal(length, bounds)
        return gen_ops.sum(gen_ops.cast(at_least, dtypes.int64), convert([0]))

    def size_of(bucket):
        return gen_ops.gather(convert(sizes, dtypes.int64), bucket)

    def batch(bucket, group):
        size = size_of(bucket)
        if no_padding:
            return group.batch(size, drop_remainder=drop_remainder)
        shapes = padded_shapes if padded_shapes is not None else group.output_shapes
        if pad_to_bucket_boundary:
            ends = convert([end - 1 for end in bucket_boundaries] + [-1], dtypes.int64)
            end = gen_ops.gather(ends, bucket)
            shapes = elements.map_structure(lambda shape: _ended_at(shape, end), shapes)
        return group.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

    return group_by_window(bucket_of, batch, window_size_func=size_of)


def _ended_at(shape, end):
    """A shape as a Tensor, with `end` for the sizes that are not known."""
    parts = [
        end if size is None else convert(size, dtypes.int64)
        for size in TensorShape(shape).as_list()
    ]
    return gen_ops.pack(parts) if parts else convert([], dtypes.int64)


def cardinality(dataset):
    """How many elements a dataset has, a scalar of int64; see the constants for other answers."""
    return gen_ops.dataset_cardinality(dataset.variant)


def get_single_element(dataset):
    """The only element of a dataset; steps fail if it has none, or more."""
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.spec.pack(
        gen_ops.dataset_to_single_element(dataset.variant, **dataset.spec.attrs())
    )


def reduce_dataset(dataset, reducer):
    """What a tf.data.experimental.Reducer makes of a dataset."""
    state = dataset.reduce(reducer.init_func(0), reducer.reduce_func)
    return reducer.finalize_func(state)


def Counter(start=0, step=1, dtype=dtypes.int64):
    """The numbers from `start` on, by `step`, without end."""
    last = dtypes.int64.max if step > 0 else dtypes.int64.min
    numbers = Dataset.range(start, last, step)
    if dtypes.as_dtype(dtype) == dtypes.int64:
        return numbers
    return numbers.map(lambda number: gen_ops.cast(number, dtype))


class RandomDataset(Dataset):
    """Random numbers of 32 bits, without end; the same for the same seed."""

    def __init__(self, seed=None):
        spec = Spec(Tensor, [dtypes.int64], [TensorShape([])])
        super().__init__(gen_ops.random_dataset(*seed_tensors(seed), **spec.attrs()), spec)

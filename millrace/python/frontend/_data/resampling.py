"""Datasets whose elements are grouped by a key, or drawn so that classes are as frequent as is wanted."""

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.choices import sample_from_datasets
from millrace._data.dataset import Dataset, check_state, made
from millrace._data.elements import Spec
from millrace._data.transformations import scan, unbatch
from millrace._graph.conversion import constant, convert
from millrace._graph.operation import Tensor
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import fill, tile, where, zeros_like
from millrace._ops.random_values import random_uniform
from millrace._ops.reductions import reduce_max, reduce_min, reduce_sum
from millrace._ops.segments import bincount
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = ["Reducer", "group_by_reducer", "rejection_resample"]

_ROWS_AT_A_TIME = 32  # between two guesses at how frequent classes are
_SEEN_BEFORE = 10  # how often each class is taken to have been seen at first


class Reducer:
    """How many elements become one.

    Args:
      init_func: gives a state for a key, a scalar of int64.
      reduce_func: called with (state, element); gives the next state.
      finalize_func: gives a result for the last state.
    """

    def __init__(self, init_func, reduce_func, finalize_func):
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func, reducer):
    """What a Reducer makes of all elements that have one key, for each key.

    Args:
      key_func: gives a key, a scalar of int64, for an element.
      reducer: a Reducer.

    Returns:
      a function from datasets to datasets of results, in the order of their keys.

    Raises:
      ValueError: applied, if key_func gives something else; TypeError if reduce_func gives another structure
        than init_func, or other types.
    """

    def apply(dataset):
        key_spec = Spec(Tensor, [dtypes.int64], [TensorShape([])])
        key = dataset.traced(
            lambda *element: convert(key_func(*element), dtypes.int64), "group_by_reducer_key"
        )
        key.check_scalar(dtypes.int64, "`key_func`")
        init = dataset.traced(reducer.init_func, "group_by_reducer_init", [key_spec])
        state = init.spec.loosened()
        reduce = dataset.traced(
            reducer.reduce_func, "group_by_reducer_reduce", [state, dataset.spec]
        )
        check_state(init.spec, reduce.spec, "reduce_func")
        finalize = dataset.traced(reducer.finalize_func, "group_by_reducer_finalize", [state])
        return made(
            "group_by_reducer_dataset",
            finalize.spec,
            dataset.variant,
            *(each.captured for each in (key, init, reduce, finalize)),
            options=dataset.options(),
            key_func=key.name,
            init_func=init.name,
            reduce_func=reduce.name,
            finalize_func=finalize.name,
        )

    return apply


def rejection_resample(class_func, target_dist, initial_dist=None, seed=None):
    """Elements left out by chance so that classes become as frequent as is wanted.

    Args:
      class_func: gives the class, a scalar of int32 from 0 on, of an element.
      target_dist: how frequent each class is to be: shares, a vector of float32 or float64.
      initial_dist: how frequent each is; None to count while elements go by.
      seed: a seed for what is drawn.

    Returns:
      a function from a Dataset to one of (class, element).
    """

    def apply(dataset):
        target = convert(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        if initial_dist is None:
            initial = _counted(classes, target)
        else:
            given = convert(initial_dist, target.dtype, "initial_dist")
            initial = Dataset.from_tensors(given).repeat()
        plans = initial.map(lambda dist: _plan(dist, target))
        with_class = dataset.map(
            lambda *element: (class_func(*element), elements.unpacked_one(element))
        )
        chances = plans.map(lambda accepted, kept: accepted)

        def draw(accepted, of_class):
            return of_class, gen_ops.gather_v2(accepted, of_class[0], 0)

        accepted = (
            Dataset.zip((chances, with_class))
            .map(lambda accepted, of_class: draw(accepted, of_class))
            .filter(
                lambda _, chance: gen_ops.less(
                    random_uniform([], seed=seed, dtype=chance.dtype), chance
                )
            )
            .map(lambda of_class, _: of_class)
        )
        weights = plans.map(lambda accepted, kept: gen_ops.pack([kept, 1.0 - kept]))
        return sample_from_datasets([with_class, accepted], weights=weights, seed=seed)

    return apply


def _counted(classes, target):
    """How frequent classes have been so far, for each element."""
    count = gen_ops.size(target)

    def more(seen, of_rows):
        seen = seen + cast(bincount(cast(of_rows, dtypes.int32), minlength=count), dtypes.int64)
        shares = cast(seen, target.dtype) / cast(reduce_sum(seen), target.dtype)
        rows = gen_ops.pack([constant(_ROWS_AT_A_TIME), 1])
        return seen, tile(gen_ops.expand_dims(shares, 0), rows)

    begin = fill(gen_ops.reshape(count, [1]), constant(_SEEN_BEFORE, dtypes.int64))
    return classes.batch(_ROWS_AT_A_TIME).apply(scan(begin, more)).apply(unbatch())


def _plan(initial, target):
    """(the chance of each class to be taken, the share of all elements that are taken without one).

    The target is m times what there is and 1 - m times what is left of that by chance: the largest m
    wastes fewest elements, and leaves of the class that is least wanted more of none.
    """
    ratios = where(
        gen_ops.greater(initial, zeros_like(initial)), target / initial, zeros_like(initial)
    )
    most, least = reduce_max(ratios), reduce_min(ratios)
    return gen_ops.div_no_nan(ratios - least, most - least), least

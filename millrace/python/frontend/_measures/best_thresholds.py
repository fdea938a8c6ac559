"""Metrics of probabilities that look for a threshold, or tell all of them: tf.contrib.metrics' f1_score and its kin."""

import collections

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import Assert, group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._measures.means import documented
from millrace._measures.metric_state import announced, fitted, metric_variable
from millrace._measures.ranks import broadcast_weights
from millrace._measures.thresholds import (
    PROBABILITIES,
    counts_at_thresholds,
    limits_between,
    points_of,
)
from millrace._ops.arithmetic import cast, cumsum, linspace
from millrace._ops.arrays import ones_like, reshape, stack
from millrace._ops.reductions import reduce_all, reduce_max, reduce_sum
from millrace._state.assignments import scatter_add
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes

_TINY = 1e-7
_EVEN = f"{PROBABILITIES}\n      num_thresholds: at how many thresholds they are counted, at even distances."


def _searched(labels, predictions, weights, num_thresholds, kinds, of, added_to):
    """(value, update) of a metric that `of(counts by kind, name)` works out from counts at thresholds."""
    limits = limits_between(num_thresholds)
    values, updates = counts_at_thresholds(labels, predictions, limits, weights, kinds)
    values = {kind: convert(held) for kind, held in values.items()}
    return announced(of(values, "value"), of(updates, "update_op"), *added_to)


@documented("The highest F1 score over all thresholds.", _EVEN)
def f1_score(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    def best(held, suffix):
        tp, fp, fn = (convert(held[kind]) for kind in ("tp", "fp", "fn"))
        precision, recall = tp / (_TINY + tp + fp), tp / (_TINY + tp + fn)
        scores = 2.0 * precision * recall / (precision + recall + _TINY)
        return reduce_max(scores, name=suffix)

    with variable_scope(name, "f1", [labels, predictions, weights]):
        added_to = [metrics_collections, updates_collections]
        kinds = ["tp", "fp", "fn"]
        return _searched(labels, predictions, weights, num_thresholds, kinds, best, added_to)


@documented(
    "Precision at the highest threshold at which recall is at least target_recall.",
    f"{_EVEN}\n      target_recall: a number in [0, 1].",
)
def precision_at_recall(
    labels,
    predictions,
    target_recall,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    if not 0 <= target_recall <= 1:
        raise ValueError(f"`target_recall` must be in the range [0, 1], not {target_recall}")

    def there(held, suffix):
        tp, fn, fp = (convert(held[kind]) for kind in ("tp", "fn", "fp"))
        # Recall falls as thresholds rise.
        reaches = gen_ops.greater_equal(tp / (tp + fn + _TINY), target_recall)
        place = reduce_sum(cast(reaches, dtypes.int64)) - 1
        return gen_ops.real_div(tp[place] + _TINY, tp[place] + fp[place] + _TINY, name=suffix)

    with variable_scope(name, "precision_at_recall", [predictions, labels, weights]):
        added_to = [metrics_collections, updates_collections]
        kinds = ["tp", "fn", "fp"]
        return _searched(labels, predictions, weights, num_thresholds, kinds, there, added_to)


@documented(
    "Recall at the threshold whose precision is nearest to a given one.",
    f"{_EVEN}\n      precision: a number in [0, 1].\n      strict_mode: True for the lowest precision that is "
    "not below the given one, and 0 if there is none.",
)
def recall_at_precision(
    labels,
    predictions,
    precision,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
    strict_mode=False,
):
    if not 0 <= precision <= 1:
        raise ValueError(f"`precision` must be in the range [0, 1], not {precision}")

    def there(held, suffix):
        tp, fp, fn = (convert(held[kind]) for kind in ("tp", "fp", "fn"))
        reached = tp / (tp + fp + _TINY)
        if strict_mode:
            # The reciprocal of what is least above is the largest; of what is below it is negative.
            place = gen_ops.arg_max(1.0 / (reached - precision + _TINY), 0)
        else:
            place = gen_ops.arg_min(gen_ops.abs(reached - precision), 0)

        def recall():
            return gen_ops.real_div(tp[place], tp[place] + fn[place] + _TINY, name=suffix)

        if not strict_mode:
            return recall()
        is_enough = gen_ops.greater_equal(reached[place], precision)
        return cond(is_enough, recall, lambda: convert(0.0))

    with variable_scope(name, "recall_at_precision", [predictions, labels, weights]):
        added_to = [metrics_collections, updates_collections]
        kinds = ["tp", "fp", "fn"]
        return _searched(labels, predictions, weights, num_thresholds, kinds, there, added_to)


@documented(
    "The points of a curve, [num_thresholds, 2]; the update is an Operation.",
    f'{_EVEN}\n      curve: "ROC" for the rate of false positives and recall, "PR" for recall and precision.',
)
def streaming_curve_points(
    labels=None,
    predictions=None,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
):
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "curve_points", [labels, predictions, weights]):
        limits = limits_between(num_thresholds)
        kinds = ["tp", "fn", "tn", "fp"]
        values, updates = counts_at_thresholds(labels, predictions, limits, weights, kinds)
        points = stack(points_of(curve, values), axis=1)
        update = group(*(each.op for each in updates.values()))
        return announced(points, update, metrics_collections, updates_collections)


PrecisionRecallData = collections.namedtuple(
    "PrecisionRecallData", ["tp", "fp", "tn", "fn", "precision", "recall", "thresholds"]
)


def precision_recall_at_equal_thresholds(
    labels, predictions, weights=None, num_thresholds=None, use_locking=None, name=None
):
    """Counts, precision and recall at thresholds from 0 to 1; a prediction is true if it is not below one.

    Each prediction is counted once, not once a threshold.

    Args:
      labels: bool.
      predictions: floats of the same shape, in [0, 1].
      weights: a factor of each, of that rank or a scalar; None for 1.
      num_thresholds: how many, at even distances; 201 if None.
      use_locking: False to let updates of several steps overlap.
      name: the variable scope.

    Returns:
      (a tuple of Tensors [num_thresholds] tp, fp, tn, fn, precision, recall, thresholds; an Operation to run with
      each step).

    Raises:
      TypeError: if labels are not bool; ValueError: if shapes do not go together. InvalidArgumentError when it
      runs, if a prediction is not in [0, 1].
    """
    labels, predictions = convert(labels), convert(predictions)
    if labels.dtype.base_dtype != dtypes.bool:
        raise TypeError(f"labels have to be bool, not {labels.dtype.name}")
    count = 201 if num_thresholds is None else num_thresholds
    kind, sums = predictions.dtype.base_dtype, dtypes.float64
    with variable_scope(name, "precision_recall_at_equal_thresholds", [labels, predictions]):
        inside = gen_ops.logical_and(
            gen_ops.greater_equal(predictions, 0.0), gen_ops.less_equal(predictions, 1.0)
        )
        check = Assert(reduce_all(inside), ["predictions must be in [0, 1]", predictions])
        labels, predictions, weights = fitted(labels, predictions, weights)
        is_true = cast(labels, sums)
        factors = ones_like(is_true)
        if weights is not None:
            factors = broadcast_weights(cast(weights, sums), is_true)
        with control_dependencies([check]):
            flat = reshape(predictions, [-1])
        places = cast(gen_ops.floor(flat * (count - 1)), dtypes.int32)
        lock = {"use_locking": True if use_locking is None else use_locking}
        with name_scope("variables"):
            kept = [metric_variable([count], sums, each) for each in ("tp_buckets", "fp_buckets")]
        added = [
            scatter_add(held, places, reshape(each, [-1]), **lock)
            for held, each in zip(kept, (is_true * factors, (1.0 - is_true) * factors))
        ]
        tp, fp = (cumsum(convert(held), reverse=True) for held in kept)
        fn, tn = tp[0] - tp, fp[0] - fp
        precision = tp / gen_ops.maximum(tp + fp, convert(_TINY, sums))
        recall = tp / gen_ops.maximum(tp + fn, convert(_TINY, sums))
        found = [tp, fp, tn, fn, precision, recall, linspace(0.0, 1.0, count)]
        return PrecisionRecallData(*(cast(each, kind) for each in found)), group(
            *(each.op for each in added)
        )

"""Metrics that keep every value: tf.contrib.metrics' streaming_concat, and areas under curves that are exact."""

import collections
import statistics

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import Assert, group, no_op
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._measures.metric_state import announced, fitted, metric_variable
from millrace._measures.ranks import broadcast_weights
from millrace._ops.arithmetic import cast, cumsum
from millrace._ops.arrays import concat, gather, ones_like, pad, reshape, transpose, where, zeros
from millrace._ops.arrays import shape as shape_of
from millrace._ops.arrays import size as size_of
from millrace._ops.layers import top_k
from millrace._ops.reductions import reduce_all, reduce_max, reduce_min, reduce_sum
from millrace._state.assignments import assign, scatter_update
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes

_TINY = 1e-7


def streaming_concat(
    values, axis=0, max_size=None, metrics_collections=None, updates_collections=None, name=None
):
    """All values of all steps, one after the other.

    Args:
      values: a Tensor; its rank and all sizes but that of `axis` are known.
      axis: along which they follow each other.
      max_size: what comes after so many is left out; None to keep all, however many.
      metrics_collections, updates_collections, name: as for other metrics.

    Returns:
      (a Tensor of the values so far, an Operation or Tensor to run with each step).

    Raises:
      ValueError: if rank or sizes are not known, or there is no such axis.
    """
    with variable_scope(name, "streaming_concat", [values]):
        values = convert(values)
        rank = values.shape.ndims
        if rank is None:
            raise ValueError("`values` must have known statically known rank")
        if not -rank <= axis < rank:
            raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
        axis %= rank
        others = [size for n, size in enumerate(values.shape.as_list()) if n != axis]
        if None in others:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must have "
                f"statically known size: {values.shape}"
            )
        kept = metric_variable(
            [max_size or 0, *others], values.dtype.base_dtype, "array", validate_shape=False
        )
        size = metric_variable([], dtypes.int32, "size")
        first, back = _to_front(rank, axis)
        value = kept.read_value()[: size.read_value()]
        value.set_shape([None, *others])
        value = transpose(value, back, name="concat")
        batch = transpose(values, first)
        before = size.read_value()
        if max_size is not None:
            batch = batch[: max_size - before]
        end = before + shape_of(batch)[0]

        def grow():
            # By half as much again, so that most steps need not move what is there.
            room = gen_ops.expand_dims(gen_ops.floor_div(end, 2) + shape_of(batch)[0], 0)
            empty = zeros(concat([room, convert(others, dtypes.int32)], 0), kept.dtype.base_dtype)
            whole = concat([kept.read_value()[:before], empty], 0)
            return assign(kept, whole, validate_shape=False).op

        is_full = gen_ops.greater(end, shape_of(kept.read_value())[0])
        with control_dependencies([cond(is_full, grow, no_op)]):
            added = scatter_update(kept, gen_ops.range(before, end, 1), batch)
        with control_dependencies([added]):
            update = assign(size, end)
        return announced(value, update, metrics_collections, updates_collections)


def _to_front(rank, axis):
    """(the order of axes that brings one to the front, the order that brings it back)."""
    others = [n for n in range(rank) if n != axis]
    return [axis, *others], [0 if n == axis else n + 1 if n < axis else n for n in range(rank)]


def _accumulated(labels, predictions, weights):
    """(Tensors of all labels (int64), predictions (float64) and weights (float64 or None), the updates)."""
    predictions = reshape(cast(predictions, dtypes.float64), [-1])
    labels = reshape(cast(labels, dtypes.int64), [-1])
    is_bit = gen_ops.logical_and(gen_ops.greater_equal(labels, 0), gen_ops.less_equal(labels, 1))
    check = Assert(reduce_all(is_bit), ["labels must be 0 or 1", labels])
    with control_dependencies([check]):
        kept = [
            streaming_concat(gen_ops.identity(each), name=name)
            for each, name in ((predictions, "concat_preds"), (labels, "concat_labels"))
        ]
        if weights is not None:
            flat = reshape(cast(weights, dtypes.float64), [-1])
            kept.append(streaming_concat(flat, name="concat_weights"))
    (scores, _), (truth, _) = kept[:2]
    return truth, scores, kept[2][0] if weights is not None else None, [each for _, each in kept]


def streaming_dynamic_auc(
    labels,
    predictions,
    curve="ROC",
    metrics_collections=(),
    updates_collections=(),
    name=None,
    weights=None,
):
    """The area under a curve whose thresholds are the predictions of all steps themselves; 0 if all labels are alike.

    Args:
      labels: 0 or 1.
      predictions: numbers of the same shape.
      curve: "ROC" for recall over the rate of false positives, "PR" for precision over recall.
      metrics_collections, updates_collections, name: as for other metrics.
      weights: a factor of each, of the same shape; None for 1.

    Returns:
      (a float64 scalar, an Operation to run with each step).

    Raises:
      ValueError: if shapes do not go together, or for another curve. InvalidArgumentError when it runs, if a
      label is neither 0 nor 1.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "dynamic_auc"):
        labels, predictions = convert(labels), convert(predictions)
        labels.shape.assert_is_compatible_with(predictions.shape)
        truth, scores, factors, updates = _accumulated(labels, predictions, weights)
        factors = ones_like(scores) if factors is None else factors
        positive = cast(truth, dtypes.float64) * factors
        total, total_positive = reduce_sum(factors), reduce_sum(positive)

        def area():
            return _exact_area(curve, scores, factors, positive, total, total_positive)

        is_known = gen_ops.logical_and(
            gen_ops.greater(total_positive, 0.0), gen_ops.less(total_positive, total)
        )
        value = cond(is_known, area, lambda: convert(0.0, dtypes.float64))
        update = group(*(each.op for each in updates))
        return announced(value, update, metrics_collections, updates_collections)


def _exact_area(curve, scores, factors, positive, total, total_positive):
    ordered, order = top_k(scores, size_of(scores))
    _, _, counts = gen_ops.unique_with_counts(ordered)
    # Predictions that are alike are on one side of any threshold.
    splits = pad(cumsum(counts), [[1, 0]])

    def above(weights):
        return gather(pad(cumsum(gather(weights, order)), [[1, 0]]), splits)

    true_above, all_above = above(positive), above(factors)
    if curve == "ROC":
        x = (all_above - true_above) / (total - total_positive)
        y = true_above / total_positive
    else:
        x = true_above / total_positive
        y = where(gen_ops.greater(splits, 0), true_above / all_above, ones_like(true_above))
    return reduce_sum((y[1:] + y[:-1]) / 2.0 * gen_ops.abs(x[1:] - x[:-1]))


AucData = collections.namedtuple("AucData", ["auc", "lower", "upper"])


def auc_with_confidence_intervals(
    labels,
    predictions,
    weights=None,
    alpha=0.95,
    logit_transformation=True,
    metrics_collections=(),
    updates_collections=(),
    name=None,
):
    """The area under the ROC curve of all steps, and bounds of it, by the placements of DeLong.

    All are 0 in a step that has labels of one kind only, or weights of less than 1 together; its values count all the
    same.

    Args:
      labels: 0 or 1.
      predictions: numbers of the same shape.
      weights: a factor of each; None for 1.
      alpha: the share of cases in which the bounds are to hold, between 0 and 1.
      logit_transformation: True to take the bounds of the area's log odds.
      metrics_collections, updates_collections, name: as for other metrics.

    Returns:
      ((auc, lower, upper): float64 scalars; an Operation to run with each step).

    Raises:
      ValueError: if shapes do not go together, or alpha is not between 0 and 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    with variable_scope(name, "auc_with_confidence_intervals", [labels, predictions, weights]):
        labels, predictions, weights = fitted(convert(labels), predictions, weights)
        factors = cast(ones_like(predictions), dtypes.float64)
        if weights is not None:
            factors = broadcast_weights(cast(weights, dtypes.float64), factors)
        truth, scores, kept, updates = _accumulated(labels, predictions, factors)
        is_enough = gen_ops.greater_equal(reduce_sum(factors), 1.0)
        bits = cast(labels, dtypes.int64)
        has_both = gen_ops.less(reduce_min(bits), reduce_max(bits))
        found = _with_bounds(truth, scores, kept, alpha, logit_transformation)
        zero = convert(0.0, dtypes.float64)
        is_valid = gen_ops.logical_and(is_enough, has_both)
        value = AucData(*(where(is_valid, each, zero) for each in found))
        update = group(*(each.op for each in updates))
        return announced(value, update, metrics_collections, updates_collections)


def _with_bounds(truth, scores, factors, alpha, logit_transformation):
    """(auc, lower, upper)."""
    ordered, order = top_k(-scores, size_of(scores))
    _, places = gen_ops.unique(ordered)
    is_true = cast(gather(truth, order), dtypes.float64)
    factors = gather(factors, order)
    sides = []
    for own in (1.0 - is_true, is_true):
        # Where a value stands among those of the other kind: their share below it, and half of those alike.
        of_others = gen_ops.segment_sum(factors * (1.0 - own), places)
        share = cumsum(of_others, exclusive=True) + of_others / 2.0
        placed = gather(share / (reduce_sum(of_others) + _TINY), places)
        sides.append((own * factors, placed))
    (weights_0, below), (weights_1, above) = sides
    above_0 = 1.0 - below
    total_0, total_1 = reduce_sum(weights_0), reduce_sum(weights_1)
    auc_0 = reduce_sum(weights_0 * above_0) / (total_0 + _TINY)
    auc_1 = reduce_sum(weights_1 * above) / (total_1 + _TINY)
    auc = where(gen_ops.less(total_0, total_1), auc_1, auc_0)
    var_0 = reduce_sum(weights_0 * gen_ops.square(above_0 - auc_0)) / (total_0 - 1.0 + _TINY)
    var_1 = reduce_sum(weights_1 * gen_ops.square(above - auc_1)) / (total_1 - 1.0 + _TINY)
    error = gen_ops.sqrt(var_0 / (total_0 + _TINY) + var_1 / (total_1 + _TINY))
    width = -statistics.NormalDist().inv_cdf((1.0 - alpha) / 2.0)
    if logit_transformation:
        middle = gen_ops.log(auc / (1.0 - auc + _TINY))
        error = error / (auc * (1.0 - auc + _TINY))
        bounds = [
            1.0 / (1.0 + gen_ops.exp(-each) + _TINY)
            for each in (middle - width * error, middle + width * error)
        ]
    else:
        bounds = [auc - width * error, auc + width * error]
    # At 0 and 1 nothing tells how far it may be off.
    is_edge = gen_ops.logical_or(gen_ops.equal(auc, 0.0), gen_ops.equal(auc, 1.0))
    return (auc, *(where(is_edge, auc, each) for each in bounds))

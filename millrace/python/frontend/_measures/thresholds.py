"""Metrics of probabilities, which are true predictions above a threshold: for many of them at once."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies
from millrace._measures.means import documented
from millrace._measures.metric_state import announced, fitted, metric_variable
from millrace._measures.ranks import broadcast_weights
from millrace._ops.arithmetic import cast, cumsum
from millrace._ops.arrays import ones_like, reshape, where
from millrace._ops.reductions import reduce_all, reduce_min, reduce_sum
from millrace._state.assignments import assign_add
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes

PROBABILITIES = "labels: cast to bool.\n      predictions: of the same shape, in [0, 1]."
AT_THRESHOLDS = f"{PROBABILITIES}\n      thresholds: a list of numbers in [0, 1]."

_COUNTS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}


def counts_at_thresholds(labels, predictions, thresholds, weights, kinds):
    """({kind: Variable}, {kind: update}): how often each kind occurred, a vector by threshold."""
    predictions = cast(predictions, dtypes.float32)
    is_share = gen_ops.logical_and(
        gen_ops.greater_equal(predictions, 0.0), gen_ops.less_equal(predictions, 1.0)
    )
    check = Assert(reduce_all(is_share), ["predictions must be in [0, 1]", predictions])
    with control_dependencies([check]):
        labels, predictions, weights = fitted(
            cast(labels, dtypes.bool), gen_ops.identity(predictions), weights
        )
    limits = reshape(constant(thresholds, dtypes.float32), [-1, 1])
    is_above = gen_ops.greater(reshape(predictions, [1, -1]), limits)
    is_true = reshape(labels, [1, -1])
    factors = None
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
        factors = reshape(weights, [1, -1])
    values, updates = {}, {}
    for kind in kinds:
        name, wants_label, wants_prediction = _COUNTS[kind]
        matches = gen_ops.logical_and(
            is_true if wants_label else gen_ops.logical_not(is_true),
            is_above if wants_prediction else gen_ops.logical_not(is_above),
        )
        matches = cast(matches, dtypes.float32)
        matches = matches if factors is None else matches * factors
        values[kind] = metric_variable([len(thresholds)], dtypes.float32, name)
        updates[kind] = assign_add(values[kind], reduce_sum(matches, 1))
    return values, updates


def _at_thresholds(kind):
    default_name = _COUNTS[kind][0]

    def counter(
        labels,
        predictions,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, default_name, [predictions, labels, weights]):
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights, [kind])
            value = gen_ops.identity(values[kind])
            return announced(value, updates[kind], metrics_collections, updates_collections)

    counter.__name__ = counter.__qualname__ = f"{default_name}_at_thresholds"
    first = f"The sum of weights of {default_name.replace('_', ' ')} at each threshold."
    return documented(first, AT_THRESHOLDS)(counter)


true_positives_at_thresholds = _at_thresholds("tp")
false_negatives_at_thresholds = _at_thresholds("fn")
true_negatives_at_thresholds = _at_thresholds("tn")
false_positives_at_thresholds = _at_thresholds("fp")


def _share_at_thresholds(noun, counted, other, what):
    default_name = f"{noun}_at_thresholds"

    def share(
        labels,
        predictions,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, default_name, [predictions, labels, weights]):
            kinds = [counted, other]
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights, kinds)

            def of(held, suffix):
                whole = 1e-7 + convert(held[counted]) + held[other]
                return gen_ops.real_div(held[counted], whole, name=f"{noun}_{suffix}")

            value, update = of(values, "value"), of(updates, "update_op")
            return announced(value, update, metrics_collections, updates_collections)

    share.__name__ = share.__qualname__ = default_name
    return documented(f"The weighted share of {what} at each threshold.", AT_THRESHOLDS)(share)


precision_at_thresholds = _share_at_thresholds(
    "precision", "tp", "fp", "true predictions whose labels are true"
)
recall_at_thresholds = _share_at_thresholds("recall", "tp", "fn", "true labels that are predicted")
false_positive_rate_at_thresholds = _share_at_thresholds(
    "false_positive_rate", "fp", "tn", "false labels that are predicted as true"
)
false_negative_rate_at_thresholds = _share_at_thresholds(
    "false_negative_rate", "fn", "tp", "true labels that are not predicted"
)

_EPSILON = 1e-6
_SUMS = ("trapezoidal", "careful_interpolation", "minoring", "majoring")


def auc(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
    summation_method="trapezoidal",
    thresholds=None,
):
    """The area under a curve of predictions that are true above a threshold, which goes from 1 to 0.

    Args:
      labels: cast to bool.
      predictions: of the same shape, in [0, 1].
      weights: a factor of each element, as for other metrics; None for 1.
      num_thresholds: at how many thresholds the curve is known, at even distances.
      metrics_collections, updates_collections: names of collections for the value and the update.
      curve: "ROC" for recall over the rate of false positives, "PR" for precision over recall.
      name: the variable scope of the local variables that keep the counts.
      summation_method: "trapezoidal"; "minoring" or "majoring" for a bound; "careful_interpolation",
        which for "PR" interpolates counts instead of precisions.
      thresholds: a list of numbers in [0, 1] to use instead.

    Returns:
      (value, update), as for other metrics.

    Raises:
      ValueError: if shapes do not go together, or the curve or the method is none of these.
        InvalidArgumentError when it runs, if a prediction is not in [0, 1].
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
    if summation_method not in _SUMS:
        raise ValueError(
            f"Invalid summation_method: {summation_method} summation_method should be one of {_SUMS}"
        )
    with variable_scope(name, "auc", [labels, predictions, weights]):
        inner = None if thresholds is None else sorted(thresholds)
        limits = limits_between(num_thresholds, inner)
        kinds = list(_COUNTS)
        values, updates = counts_at_thresholds(labels, predictions, limits, weights, kinds)
        area = (
            _interpolated
            if (curve, summation_method) == ("PR", _SUMS[1])
            else _area(curve, summation_method)
        )
        value, update = area(values, "value"), area(updates, "update_op")
        return announced(value, update, metrics_collections, updates_collections)


def limits_between(num_thresholds, inner=None):
    """Thresholds at even distances (or given ones), and two a little outside of what predictions are."""
    if inner is None:
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [-1e-7, *inner, 1.0 + 1e-7]


def _one_at_other(names, told, given, limits_of, chosen):
    """A metric of one rate at the threshold where another one is nearest to a given number."""

    def metric(
        labels,
        predictions,
        wanted,
        weights=None,
        num_thresholds=200,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        if not 0 <= wanted <= 1:
            raise ValueError(f"`{given}` must be in the range [0, 1].")
        with variable_scope(name, names, [predictions, labels, weights]):
            limits = limits_between(num_thresholds)
            values, updates = counts_at_thresholds(
                labels, predictions, limits, weights, list(_COUNTS)
            )

            def of(held, suffix):
                counts = {kind: convert(held[kind]) for kind in _COUNTS}
                distance = gen_ops.abs(_rate(counts, limits_of) - wanted)
                place = chosen(distance)
                return gen_ops.identity(_rate(counts, told)[place], name=suffix)

            value, update = of(values, "value"), of(updates, "update_op")
            return announced(value, update, metrics_collections, updates_collections)

    return metric


def _rate(counts, kinds):
    right, wrong = (counts[kind] for kind in kinds)
    return gen_ops.real_div(right, right + wrong + 1e-7)


def _first(distance):
    return gen_ops.arg_min(distance, 0)


def _last(distance):
    """Of thresholds at which a rate is as near the highest one."""
    is_nearest = gen_ops.equal(distance, reduce_min(distance))
    return gen_ops.arg_max(cumsum(cast(is_nearest, dtypes.int64)), 0)


_sensitivity = _one_at_other(
    "sensitivity_at_specificity", ("tp", "fn"), "specificity", ("tn", "fp"), _first
)
_specificity = _one_at_other(
    "specificity_at_sensitivity", ("tn", "fp"), "sensitivity", ("tp", "fn"), _last
)
_NEAREST = f"""{PROBABILITIES}
      {{}}: the number that the other rate is to be nearest to, in [0, 1].
      num_thresholds: at how many thresholds both are known, at even distances."""


@documented(
    "The share of true labels that are predicted, at the threshold with this share of false ones that "
    "are not.",
    _NEAREST.format("specificity"),
)
def sensitivity_at_specificity(
    labels,
    predictions,
    specificity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return _sensitivity(
        labels,
        predictions,
        specificity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


@documented(
    "The share of false labels that are not predicted, at the threshold with this share of true ones "
    "that are.",
    _NEAREST.format("sensitivity"),
)
def specificity_at_sensitivity(
    labels,
    predictions,
    sensitivity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return _specificity(
        labels,
        predictions,
        sensitivity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


def points_of(curve, held):
    """(x, y): Tensors, of "ROC" or "PR" at each threshold, from the counts of all four kinds there."""
    tp, fn, tn, fp = (convert(held[kind]) for kind in ("tp", "fn", "tn", "fp"))
    rates = gen_ops.real_div(tp + _EPSILON, tp + fn + _EPSILON)
    if curve == "ROC":
        return gen_ops.real_div(fp, fp + tn + _EPSILON), rates
    return rates, gen_ops.real_div(tp + _EPSILON, tp + fp + _EPSILON)


def _area(curve, method):
    def area(held, name):
        x, y = points_of(curve, held)
        first, second = y[:-1], y[1:]
        if method == "minoring":
            height = gen_ops.minimum(first, second)
        elif method == "majoring":
            height = gen_ops.maximum(first, second)
        else:
            height = (first + second) / 2.0
        return reduce_sum((x[:-1] - x[1:]) * height, name=name)

    return area


def _interpolated(held, name):
    """The area under precision over recall, where counts (not precisions) are straight in between."""
    tp, fn, fp = (convert(held[kind]) for kind in ("tp", "fn", "fp"))
    grown, p = tp[:-1] - tp[1:], tp + fp
    slope = gen_ops.div_no_nan(grown, gen_ops.maximum(p[:-1] - p[1:], 0.0))
    intercept = tp[1:] - slope * p[1:]
    both = gen_ops.logical_and(gen_ops.greater(p[:-1], 0.0), gen_ops.greater(p[1:], 0.0))
    quotient = gen_ops.div_no_nan(p[:-1], gen_ops.maximum(p[1:], 0.0))
    safe = where(both, quotient, ones_like(quotient))
    parts = slope * (grown + intercept * gen_ops.log(safe))
    return reduce_sum(gen_ops.div_no_nan(parts, gen_ops.maximum(tp[1:] + fn[1:], 0.0)), name=name)

"""tf.contrib.metrics beyond tf's: how many there were, rates of errors, how far two rows of numbers go together."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._measures.counts import (
    false_negatives,
    false_positives,
    true_negatives,
    true_positives,
)
from millrace._measures.means import documented
from millrace._measures.metric_state import announced, fitted, metric_variable
from millrace._measures.ranks import broadcast_weights, remove_squeezable_dimensions
from millrace._ops.arithmetic import cast, equal
from millrace._ops.arrays import one_hot, reshape
from millrace._ops.arrays import size as size_of
from millrace._ops.reductions import reduce_sum
from millrace._state.assignments import assign, assign_add
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes


@documented("The number of values, or the sum of their weights.", "values: a Tensor.")
def count(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    with variable_scope(name, "count", [values, weights]):
        held = metric_variable([], dtypes.float32, "count")
        values = convert(values)
        number = cast(size_of(values), dtypes.float32)
        if weights is not None:
            _, values, weights = fitted(None, values, weights)
            number = reduce_sum(broadcast_weights(cast(weights, dtypes.float32), values))
        with control_dependencies([values]):
            update = assign_add(held, number)
        return announced(gen_ops.identity(held), update, metrics_collections, updates_collections)


def _rate(wrong, right, name, first):
    """The metric of the share that one count has of it and another."""

    def rate(
        predictions,
        labels,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, short, [predictions, labels, weights]):
            missed, missed_now = wrong(labels, predictions, weights)
            found, found_now = right(labels, predictions, weights)
            value = gen_ops.div_no_nan(missed, missed + found, name="value")
            update = gen_ops.div_no_nan(missed_now, missed_now + found_now, name="update_op")
            return announced(value, update, metrics_collections, updates_collections)

    short = name.removeprefix("streaming_")
    rate.__name__ = rate.__qualname__ = name
    inputs = "predictions, labels: Tensors of one shape, cast to bool."
    return documented(first, inputs)(rate)


streaming_false_positive_rate = _rate(
    false_positives,
    true_negatives,
    "streaming_false_positive_rate",
    "The weighted share of false labels that are predicted as true.",
)
streaming_false_negative_rate = _rate(
    false_negatives,
    true_positives,
    "streaming_false_negative_rate",
    "The weighted share of true labels that are not predicted.",
)

_ROWS = "predictions, labels: float Tensors of one shape."


@documented(
    "The unbiased covariance of predictions and labels; not a number of fewer than two.", _ROWS
)
def streaming_covariance(
    predictions,
    labels,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with variable_scope(name, "covariance", [predictions, labels, weights]):
        labels, predictions, weights = fitted(
            cast(labels, dtypes.float32), cast(predictions, dtypes.float32), weights
        )
        held = [
            metric_variable([], dtypes.float32, each)
            for each in ("count", "mean_prediction", "mean_label", "comoment")
        ]
        if weights is None:
            factors = gen_ops.ones_like(labels)
        else:
            factors = broadcast_weights(cast(weights, dtypes.float32), labels)
        number = reduce_sum(factors)
        before = [gen_ops.identity(each) for each in held]
        whole = before[0] + number
        # By deviations from the batch's own means, so that large numbers do not hide small ones.
        own = [
            gen_ops.div_no_nan(reduce_sum(each * factors), number) for each in (predictions, labels)
        ]
        off = [values - mean for values, mean in zip((predictions, labels), own)]
        apart = [mine - mean for mine, mean in zip(own, before[1:3])]
        share = gen_ops.div_no_nan(number, whole)
        means = [each * share for each in apart]
        comoment = reduce_sum(factors * off[0] * off[1]) + before[0] * share * apart[0] * apart[1]
        with control_dependencies([*before, *means, comoment, whole]):
            changed = [assign(held[0], whole)] + [
                assign_add(variable, change)
                for variable, change in zip(held[1:], [*means, comoment])
            ]

        def of(number, comoment, name):
            nothing = convert(float("nan"), dtypes.float32)
            quotient = gen_ops.div_no_nan(comoment, number - 1.0)
            return gen_ops.select(gen_ops.less_equal(number, 1.0), nothing, quotient, name=name)

        value = of(convert(held[0]), convert(held[3]), "covariance")
        update = of(changed[0], changed[3], "update_op")
        with control_dependencies(changed):
            update = gen_ops.identity(update)
        return announced(value, update, metrics_collections, updates_collections)


@documented("The correlation of predictions and labels, from -1 to 1.", _ROWS)
def streaming_pearson_correlation(
    predictions,
    labels,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with variable_scope(name, "pearson_r", [predictions, labels, weights]):
        pairs = [
            streaming_covariance(*given, weights, name=kind)
            for given, kind in (
                ((predictions, labels), "covariance"),
                ((predictions, predictions), "variance_predictions"),
                ((labels, labels), "variance_labels"),
            )
        ]

        def of(covariance, first, second, name):
            return gen_ops.real_div(
                covariance, gen_ops.sqrt(first) * gen_ops.sqrt(second), name=name
            )

        value = of(*(pair[0] for pair in pairs), "pearson_r")
        update = of(*(pair[1] for pair in pairs), "update_op")
        return announced(value, update, metrics_collections, updates_collections)


def cohen_kappa(
    labels,
    predictions_idx,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How far two judges of classes agree beyond what chance would have them: at most 1.

    Args:
      labels, predictions_idx: classes from 0 up to num_classes, integer Tensors of shape [batch].
      num_classes: how many classes there are.
      weights: a factor of each; None for 1.
      metrics_collections, updates_collections: names of collections for the value and the update.
      name: the variable scope of the local variables `po`, `pe_row` and `pe_col` that keep the counts.

    Returns:
      (value, update), as for tf.metrics.accuracy.

    Raises:
      ValueError: for fewer than two classes.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2. Found: {num_classes}")
    with variable_scope(name, "cohen_kappa", [labels, predictions_idx, weights]):
        labels, predicted = remove_squeezable_dimensions(labels, predictions_idx)
        labels, predicted = (
            reshape(cast(each, dtypes.int64), [-1]) for each in (labels, predicted)
        )
        kind = dtypes.int64 if weights is None else dtypes.float32
        factors = (
            gen_ops.ones_like(labels) if weights is None else reshape(cast(weights, kind), [-1])
        )

        def counted(classes, factors):
            return reduce_sum(
                one_hot(classes, num_classes, dtype=kind) * reshape(factors, [-1, 1]), 0
            )

        agreed = factors * cast(equal(labels, predicted), kind)
        held, now = [], []
        for variable, found in (
            ("po", counted(labels, agreed)),
            ("pe_row", counted(labels, factors)),
            ("pe_col", counted(predicted, factors)),
        ):
            held.append(metric_variable([num_classes], kind, variable))
            now.append(assign_add(held[-1], found))

        def kappa(same, rows, columns, name):
            same, rows, columns = (cast(each, dtypes.float64) for each in (same, rows, columns))
            total = reduce_sum(rows)
            chance = reduce_sum(gen_ops.div_no_nan(rows * columns, total))
            made = gen_ops.div_no_nan(reduce_sum(same) - chance, total - chance)
            return cast(made, dtypes.float32, name=name)

        return announced(
            kappa(*held, "value"),
            kappa(*now, "update_op"),
            metrics_collections,
            updates_collections,
        )

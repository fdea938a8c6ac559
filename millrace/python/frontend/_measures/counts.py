"""Metrics of predictions that are true or false: counts, precision and recall."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._measures.means import documented
from millrace._measures.metric_state import announced, fitted, metric_variable
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import rank
from millrace._ops.reductions import reduce_sum
from millrace._state.assignments import assign_add
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes

_TRUTHS = "labels, predictions: Tensors of one shape, cast to bool."


def _truths(labels, predictions, weights):
    return fitted(cast(labels, dtypes.bool), cast(predictions, dtypes.bool), weights)


def _check_rank(weights, values):
    """What to wait for so that weights are a scalar or of the rank of the values."""
    ranks = weights.shape.ndims, values.shape.ndims
    if ranks[0] == 0 or None not in ranks and ranks[0] == ranks[1]:
        return []
    if None not in ranks:
        raise ValueError(
            f"weights have rank {ranks[0]}, where only 0 and {ranks[1]} go with values"
        )
    is_scalar = gen_ops.equal(rank(weights), 0)
    fits = gen_ops.logical_or(is_scalar, gen_ops.equal(rank(weights), rank(values)))
    return [Assert(fits, ["weights have a rank that does not go with values:", rank(weights)])]


def _counted(condition, weights, metrics_collections, updates_collections):
    """The metric that counts where a bool Tensor holds."""
    count = metric_variable([], dtypes.float32, "count")
    values = cast(condition, dtypes.float32)
    if weights is not None:
        weights = convert(weights)
        with control_dependencies(_check_rank(weights, values)):
            values = values * cast(weights, dtypes.float32)
    update = assign_add(count, reduce_sum(values))
    return announced(gen_ops.identity(count), update, metrics_collections, updates_collections)


def _counter(name, noun, wants_label, wants_prediction):
    default_name = name

    def counter(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, default_name, [predictions, labels, weights]):
            labels, predictions, weights = _truths(labels, predictions, weights)
            condition = gen_ops.logical_and(
                gen_ops.equal(labels, wants_label), gen_ops.equal(predictions, wants_prediction)
            )
            return _counted(condition, weights, metrics_collections, updates_collections)

    counter.__name__ = counter.__qualname__ = name
    return documented(f"The sum of weights of {noun}.", _TRUTHS)(counter)


true_positives = _counter("true_positives", "true predictions of true labels", True, True)
false_positives = _counter("false_positives", "true predictions of false labels", False, True)
true_negatives = _counter("true_negatives", "false predictions of false labels", False, False)
false_negatives = _counter("false_negatives", "false predictions of true labels", True, False)


def _share(part, rest, name):
    """part / (part + rest), 0 if both are."""
    return gen_ops.div_no_nan(part, gen_ops.add(part, rest), name=name)


def _of_true_positives(
    other, labels, predictions, weights, metrics_collections, updates_collections
):
    labels, predictions, weights = _truths(labels, predictions, weights)
    positives, positives_now = true_positives(labels, predictions, weights)
    others, others_now = other(labels, predictions, weights)
    value = _share(positives, others, "value")
    update = _share(positives_now, others_now, "update_op")
    return announced(value, update, metrics_collections, updates_collections)


@documented("The weighted share of true predictions whose labels are true.", _TRUTHS)
def precision(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with variable_scope(name, "precision", [predictions, labels, weights]):
        given = labels, predictions, weights, metrics_collections, updates_collections
        return _of_true_positives(false_positives, *given)


@documented("The weighted share of true labels that are predicted.", _TRUTHS)
def recall(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with variable_scope(name, "recall", [predictions, labels, weights]):
        given = labels, predictions, weights, metrics_collections, updates_collections
        return _of_true_positives(false_negatives, *given)

"""Metrics that heads of several kinds have."""

from millrace import _gen as gen_ops
from millrace._measures import means, thresholds
from millrace._measures.ranks import broadcast_weights
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import squeeze
from millrace._values import dtypes


def weighted_mean(values, weights, name):
    """tf.metrics.mean with weights of fewer columns than the values."""
    values = cast(values, dtypes.float32)
    return means.mean(values, broadcast_weights(weights, values), name=name)


def areas(labels, predictions, weights, suffix=""):
    """The areas under both curves of probabilities, by name; `suffix` stands behind each."""
    weights = broadcast_weights(weights, predictions)
    return {
        f"{name}{suffix}": thresholds.auc(
            labels, predictions, weights, curve=curve, name=f"{name}{suffix}"
        )
        for name, curve in (("auc", "ROC"), ("auc_precision_recall", "PR"))
    }


def checked_thresholds(given):
    """The thresholds as a tuple. ValueError if one is not between 0 and 1."""
    given = tuple(given or ())
    if any(not 0.0 < threshold < 1.0 for threshold in given):
        raise ValueError(f"thresholds not in (0, 1): {given}.")
    return given


def at_thresholds(labels, predictions, weights, given):
    """Accuracy, precision and recall of what is true from each threshold on, by name."""
    found = {}
    for threshold in given:
        end = f"/positive_threshold_{threshold:g}"
        is_above = cast(gen_ops.greater_equal(predictions, threshold), dtypes.float32)
        found[f"accuracy{end}"] = means.accuracy(labels, is_above, weights, name=f"accuracy{end}")
        for name, metric in (
            ("precision", thresholds.precision_at_thresholds),
            ("recall", thresholds.recall_at_thresholds),
        ):
            pair = metric(labels, predictions, [threshold], weights, name=f"{name}{end}")
            found[f"{name}{end}"] = tuple(squeeze(each) for each in pair)
    return found

"""tf.contrib.metrics: metrics with predictions before labels, and many metrics together."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._measures import counts, means, thresholds, top_predictions
from millrace._ops.layers import in_top_k
from millrace._ops.arithmetic import cast
from millrace._ops.reductions import reduce_mean, reduce_sum
from millrace._values import dtypes


def _streaming(metric):
    """A metric with predictions as its first argument and labels as its second."""

    def streaming(
        predictions,
        labels,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        return metric(labels, predictions, weights, metrics_collections, updates_collections, name)

    streaming.__name__ = streaming.__qualname__ = f"streaming_{metric.__name__}"
    streaming.__doc__ = f"tf.metrics.{metric.__name__}, with predictions before labels."
    return streaming


streaming_accuracy = _streaming(means.accuracy)
streaming_mean_absolute_error = _streaming(means.mean_absolute_error)
streaming_mean_squared_error = _streaming(means.mean_squared_error)
streaming_root_mean_squared_error = _streaming(means.root_mean_squared_error)
streaming_precision = _streaming(counts.precision)
streaming_recall = _streaming(counts.recall)
streaming_true_positives = _streaming(counts.true_positives)
streaming_false_positives = _streaming(counts.false_positives)
streaming_true_negatives = _streaming(counts.true_negatives)
streaming_false_negatives = _streaming(counts.false_negatives)


def _at_thresholds(metric, name):
    """A metric at thresholds with predictions as its first argument and labels as its second."""

    def streaming(
        predictions,
        labels,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        return metric(
            labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
        )

    streaming.__name__ = streaming.__qualname__ = name
    streaming.__doc__ = f"tf.metrics.{metric.__name__}, with predictions before labels."
    return streaming


streaming_precision_at_thresholds = _at_thresholds(
    thresholds.precision_at_thresholds, "streaming_precision_at_thresholds"
)
streaming_recall_at_thresholds = _at_thresholds(
    thresholds.recall_at_thresholds, "streaming_recall_at_thresholds"
)
streaming_true_positives_at_thresholds = _at_thresholds(
    thresholds.true_positives_at_thresholds, "streaming_true_positives_at_thresholds"
)
streaming_true_negatives_at_thresholds = _at_thresholds(
    thresholds.true_negatives_at_thresholds, "streaming_true_negatives_at_thresholds"
)
streaming_false_positives_at_thresholds = _at_thresholds(
    thresholds.false_positives_at_thresholds, "streaming_false_positives_at_thresholds"
)
streaming_false_negatives_at_thresholds = _at_thresholds(
    thresholds.false_negatives_at_thresholds, "streaming_false_negatives_at_thresholds"
)
streaming_false_positive_rate_at_thresholds = _at_thresholds(
    thresholds.false_positive_rate_at_thresholds, "streaming_false_positive_rate_at_thresholds"
)
streaming_false_negative_rate_at_thresholds = _at_thresholds(
    thresholds.false_negative_rate_at_thresholds, "streaming_false_negative_rate_at_thresholds"
)


def streaming_specificity_at_sensitivity(
    predictions,
    labels,
    sensitivity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.specificity_at_sensitivity, with predictions before labels."""
    return thresholds.specificity_at_sensitivity(
        labels,
        predictions,
        sensitivity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


def streaming_sensitivity_at_specificity(
    predictions,
    labels,
    specificity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.sensitivity_at_specificity, with predictions before labels."""
    return thresholds.sensitivity_at_specificity(
        labels,
        predictions,
        specificity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


def streaming_recall_at_k(
    predictions,
    labels,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The weighted share of rows whose label is among the k highest predictions.

    Args:
      predictions: floats, [batch, classes].
      labels: int32 or int64, [batch].
      k: how many of the highest count.
      weights, metrics_collections, updates_collections, name: as for other metrics.

    Returns:
      (value, update), as for other metrics.
    """
    found = cast(in_top_k(predictions, labels, k), dtypes.float32)
    collections = [metrics_collections, updates_collections]
    return means.mean(found, weights, *collections, name or f"recall_at_{k}")


def _of_class(metric, name):
    """A metric of the highest predictions, with predictions before labels."""

    def streaming(
        predictions,
        labels,
        k,
        class_id=None,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        collections = [metrics_collections, updates_collections]
        return metric(labels, predictions, k, class_id, weights, *collections, name)

    streaming.__name__ = streaming.__qualname__ = name
    streaming.__doc__ = f"tf.metrics.{metric.__name__}, with predictions before labels."
    return streaming


streaming_sparse_recall_at_k = _of_class(
    top_predictions.recall_at_k, "streaming_sparse_recall_at_k"
)
streaming_sparse_precision_at_k = _of_class(
    top_predictions.precision_at_k, "streaming_sparse_precision_at_k"
)


def streaming_sparse_precision_at_top_k(
    top_k_predictions,
    labels,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.precision_at_top_k, with predictions before labels; the last axis tells k."""
    collections = [metrics_collections, updates_collections]
    return top_predictions.precision_at_top_k(
        labels, top_k_predictions, None, class_id, weights, *collections, name
    )


def sparse_recall_at_top_k(
    labels,
    top_k_predictions,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.recall_at_top_k; the last axis of predictions tells k."""
    collections = [metrics_collections, updates_collections]
    return top_predictions.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, *collections, name
    )


def streaming_sparse_average_precision_at_k(
    predictions,
    labels,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.average_precision_at_k, with predictions before labels."""
    collections = [metrics_collections, updates_collections]
    return top_predictions.average_precision_at_k(
        labels, predictions, k, weights, *collections, name
    )


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions,
    labels,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The same of classes that are predicted first, int64 of shape [..., k] with a known k."""
    collections = [metrics_collections, updates_collections]
    return top_predictions.average_precision_at_top_k(
        labels, top_k_predictions, weights, *collections, name
    )


def streaming_mean_cosine_distance(
    predictions,
    labels,
    dim,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.mean_cosine_distance, with predictions before labels."""
    return means.mean_cosine_distance(
        labels, predictions, dim, weights, metrics_collections, updates_collections, name
    )


def streaming_mean_relative_error(
    predictions,
    labels,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.mean_relative_error, with predictions before labels."""
    return means.mean_relative_error(
        labels, predictions, normalizer, weights, metrics_collections, updates_collections, name
    )


def streaming_mean_iou(
    predictions,
    labels,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.mean_iou, with predictions before labels."""
    return means.mean_iou(
        labels, predictions, num_classes, weights, metrics_collections, updates_collections, name
    )


def streaming_auc(
    predictions,
    labels,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
):
    """tf.metrics.auc, with predictions before labels."""
    return thresholds.auc(
        labels,
        predictions,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        curve,
        name,
    )


def accuracy(predictions, labels, weights=None, name=None):
    """The weighted share of predictions that are their labels, of this step alone: a float32 scalar.

    Args:
      predictions, labels: Tensors of one type and shape: integers, bools or strings.
      weights: a factor of each; None for 1.
      name: the name scope.

    Raises:
      ValueError: if types or shapes differ, or are of numbers with a fraction.
    """
    with name_scope(name, "accuracy", [predictions, labels]):
        predictions, labels = convert(predictions), convert(labels)
        kind = predictions.dtype.base_dtype
        if not (kind.is_integer or kind in (dtypes.bool, dtypes.string)):
            raise ValueError(f"Labels should have bool, string, or integer dtype, not {kind.name}.")
        if labels.dtype.base_dtype != kind:
            raise ValueError(
                f"Dtypes of predictions and labels should match. Given: predictions ({kind.name}) and "
                f"labels ({labels.dtype.base_dtype.name})."
            )
        labels.shape.assert_is_compatible_with(predictions.shape)
        is_correct = cast(gen_ops.equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_mean(is_correct)
        weights = cast(weights, dtypes.float32)
        whole = reduce_sum(weights + 0.0 * is_correct)
        return gen_ops.div_no_nan(reduce_sum(is_correct * weights), whole)


def aggregate_metrics(*value_update_tuples):
    """(values, updates): lists from pairs of both. ValueError if there are none."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples):
    """(values, updates): dictionaries with the keys of a dictionary of pairs of both."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    updates = {name: update for name, (_, update) in names_to_tuples.items()}
    return values, updates

"""Metrics that are means over all steps: each gives (the value, an update to run with each step)."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._measures.confusion import confusion_matrix
from millrace._measures.metric_state import announced, fitted, metric_variable
from millrace._measures.ranks import broadcast_weights, remove_squeezable_dimensions
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import one_hot, ones_like, reshape, where, zeros_like
from millrace._ops.arrays import size as size_of
from millrace._ops.operators import true_divide
from millrace._ops.reductions import reduce_mean, reduce_sum
from millrace._state.assignments import assign_add, scatter_add
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes

_ARGUMENTS = """
    Args:
      {inputs}
      weights: a factor of each element: a Tensor of that rank, or of one less or more, whose axes have
        their sizes or 1; None for 1.
      metrics_collections, updates_collections: names of collections for the value and the update.
      name: the variable scope of the local variables that keep the sums.

    Returns:
      (value, update): the value of the steps whose update ran, and an update, which gives the value
      after it. The variables are in tf.GraphKeys.LOCAL_VARIABLES and METRIC_VARIABLES.

    Raises:
      ValueError: if shapes do not go together.
    """

_PAIR = "labels, predictions: Tensors of one shape."


def documented(first, inputs=_PAIR):
    """Gives a metric the documentation that all of them share."""

    def document(function):
        function.__doc__ = f"{first}\n{_ARGUMENTS.format(inputs=inputs)}"
        return function

    return document


def ratio(total, count, name=None):
    """total / count, 0 where count is."""
    return gen_ops.div_no_nan(total, gen_ops.maximum(count, 0.0), name=name)


@documented("The weighted mean of values.", "values: a Tensor of numbers.")
def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total = metric_variable([], dtypes.float32, "total")
        count = metric_variable([], dtypes.float32, "count")
        values, number = _weighted(values, weights)
        return _mean_of(
            total,
            count,
            reduce_sum(values),
            cast(size_of(values), dtypes.float32) if number is None else reduce_sum(number),
            metrics_collections,
            updates_collections,
        )


@documented("The weighted mean of values, element by element.", "values: a Tensor of known shape.")
def mean_tensor(
    values, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, "total_tensor")
        count = metric_variable(values.shape, dtypes.float32, "count_tensor")
        values, number = _weighted(values, weights)
        number = ones_like(values) if number is None else number
        return _mean_of(total, count, values, number, metrics_collections, updates_collections)


def _weighted(values, weights):
    """(values times weights, the weights in their shape); the weights are None if there are none."""
    if weights is None:
        return values, None
    _, values, weights = fitted(None, values, weights)
    weights = broadcast_weights(cast(weights, dtypes.float32), values)
    return values * weights, weights


def _mean_of(total, count, values, number, metrics_collections, updates_collections):
    total_now = assign_add(total, values)
    with control_dependencies([values]):
        count_now = assign_add(count, number)
    value = ratio(total, count, "value")
    update = ratio(total_now, count_now, "update_op")
    return announced(value, update, metrics_collections, updates_collections)


@documented("The weighted share of predictions that are their labels.")
def accuracy(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    labels, predictions, weights = fitted(labels, predictions, weights)
    predictions = cast(predictions, labels.dtype.base_dtype)
    is_correct = cast(gen_ops.equal(predictions, labels), dtypes.float32)
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


@documented("The weighted mean of |predictions - labels|.")
def mean_absolute_error(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    labels, predictions, weights = fitted(labels, predictions, weights)
    errors = gen_ops.abs(predictions - labels)
    collections = metrics_collections, updates_collections
    return mean(errors, weights, *collections, name or "mean_absolute_error")


@documented("The weighted mean of (predictions - labels)^2.")
def mean_squared_error(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    labels, predictions, weights = fitted(labels, predictions, weights)
    errors = gen_ops.squared_difference(labels, predictions)
    collections = metrics_collections, updates_collections
    return mean(errors, weights, *collections, name or "mean_squared_error")


@documented("The square root of the weighted mean of (predictions - labels)^2.")
def root_mean_squared_error(
    labels,
    predictions,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, name=name)
    value, update = gen_ops.sqrt(value), gen_ops.sqrt(update)
    return announced(value, update, metrics_collections, updates_collections)


@documented(
    "The weighted mean of |labels - predictions| / normalizer, 0 where the normalizer is.",
    "labels, predictions, normalizer: Tensors of one shape.",
)
def mean_relative_error(
    labels,
    predictions,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    labels, predictions, weights = fitted(labels, predictions, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = where(
        gen_ops.equal(normalizer, 0.0),
        zeros_like(labels),
        true_divide(gen_ops.abs(labels - predictions), normalizer),
    )
    collections = metrics_collections, updates_collections
    return mean(errors, weights, *collections, name or "mean_relative_error")


@documented(
    "The weighted share of values below a threshold.",
    "values: a Tensor of numbers.\n      threshold: a scalar.",
)
def percentage_below(
    values,
    threshold,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    is_below = cast(gen_ops.less(values, threshold), dtypes.float32)
    collections = metrics_collections, updates_collections
    return mean(is_below, weights, *collections, name or "percentage_below_threshold")


def _row(values):
    values = convert(values)
    return values if values.shape.ndims == 1 else reshape(values, [-1])


_CLASSES = (
    "labels, predictions: numbers of classes.\n      num_classes: how many classes there are."
)


@documented(
    "The mean over classes of the weighted share of each that was predicted; the update has a value per "
    "class.",
    _CLASSES,
)
def mean_per_class_accuracy(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        labels, predictions = _row(cast(labels, dtypes.int64)), _row(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], dtypes.float32, "total")
        count = metric_variable([num_classes], dtypes.float32, "count")
        is_correct = gen_ops.equal(cast(predictions, dtypes.int64), labels)
        is_correct = cast(is_correct, dtypes.float32)
        number = ones_like(is_correct)
        if weights is not None:
            factors = cast(_row(weights), dtypes.float32)
            is_correct, number = is_correct * factors, number * factors
        total_now = scatter_add(total, labels, number)
        count_now = scatter_add(count, labels, is_correct)
        value = reduce_mean(ratio(count, total), name="mean_accuracy")
        update = ratio(count_now, total_now, "update_op")
        return announced(value, update, metrics_collections, updates_collections)


@documented(
    "The mean over classes of true positives / (true positives + false ones + false negatives); the "
    "update gives the matrix of counts.",
    _CLASSES,
)
def mean_iou(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        shape = [num_classes, num_classes]
        total = metric_variable(shape, dtypes.float64, "total_confusion_matrix")
        labels, predictions = (_row(cast(values, dtypes.int64)) for values in (labels, predictions))
        predictions.shape.assert_is_compatible_with(labels.shape)
        weights = None if weights is None else _row(weights)
        now = confusion_matrix(
            labels, predictions, num_classes, dtype=dtypes.float64, weights=weights
        )
        update = assign_add(total, now)
        counts = cast(total, dtypes.float32)
        diagonal = reduce_sum(counts * one_hot(gen_ops.range(0, num_classes, 1), num_classes), 1)
        either = reduce_sum(counts, 0) + reduce_sum(counts, 1) - diagonal
        seen = reduce_sum(cast(gen_ops.not_equal(either, 0.0), dtypes.float32))
        value = ratio(reduce_sum(gen_ops.div_no_nan(diagonal, either)), seen, "mean_iou")
        return announced(value, update, metrics_collections, updates_collections)


@documented(
    "1 less the weighted mean of products of labels and predictions, which are of length 1.",
    "labels, predictions: Tensors of one shape, rows of unit length.\n      dim: the axis of the rows.",
)
def mean_cosine_distance(
    labels,
    predictions,
    dim,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    labels, predictions, weights = fitted(labels, predictions, weights)
    products = reduce_sum(gen_ops.mul(predictions, labels), [dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    value, update = gen_ops.sub(1.0, value), gen_ops.sub(1.0, update)
    return announced(value, update, metrics_collections, updates_collections)

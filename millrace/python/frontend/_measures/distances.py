"""The losses that programs choose from: how far each prediction is from its label, weighted and reduced."""

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more
from millrace._measures.losses import Reduction, both_float, check_given, compute_weighted_loss
from millrace._measures.ranks import remove_squeezable_dimensions
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import squeeze, stop_gradient
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from millrace._ops.reductions import reduce_sum

_LOSSES = GraphKeys.LOSSES
_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS

_ARGUMENTS = """
    Args:
      labels, {predictions}: Tensors of one shape, [batch, ...]; worked out in float32.
      weights: a scalar, or a Tensor of the rank of the losses whose axes have their sizes or 1.
      scope: the name scope.
      loss_collection: the collection that the result joins; None for none.
      reduction: one of tf.losses.Reduction.{more}

    Returns:
      a float32 scalar; of the shape of the losses for Reduction.NONE.

    Raises:
      ValueError: if shapes or weights do not fit, or labels or {predictions} are None.
    """


def _documented(first, predictions="predictions", more=""):
    def document(function):
        function.__doc__ = f"{first}\n{_ARGUMENTS.format(predictions=predictions, more=more)}"
        return function

    return document


@_documented("The weighted mean of |predictions - labels|.")
def absolute_difference(
    labels,
    predictions,
    weights=1.0,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
):
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        labels, predictions = both_float(labels, predictions)
        losses = gen_ops.abs(predictions - labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_documented(
    "The weighted mean of 1 - the product of labels and predictions, which are vectors of length 1.",
    more="\n      axis: the axis of the vectors.\n      dim: the older name of axis.",
)
def cosine_distance(
    labels,
    predictions,
    axis=None,
    weights=1.0,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
    dim=None,
):
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        labels, predictions = both_float(labels, predictions)
        losses = 1 - reduce_sum(predictions * labels, axis=[axis], keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_documented(
    "The weighted mean of max(0, 1 - logits) for labels of 1, max(0, 1 + logits) for 0.", "logits"
)
def hinge_loss(
    labels, logits, weights=1.0, scope=None, loss_collection=_LOSSES, reduction=_BY_NONZERO
):
    check_given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as scope:
        labels, logits = both_float(labels, logits)
        count_more(1)  # the ones are filled
        losses = gen_ops.relu(1 - (2 * labels - 1) * logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_documented(
    "The weighted mean of e^2 / 2 for errors up to delta, and above it of delta * (|e| - delta / 2).",
    more="\n      delta: where the loss becomes linear.",
)
def huber_loss(
    labels,
    predictions,
    weights=1.0,
    delta=1.0,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
):
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as scope:
        labels, predictions = both_float(labels, predictions)
        error = gen_ops.abs(predictions - labels)
        square_part = gen_ops.minimum(error, delta)
        losses = 0.5 * square_part * square_part + delta * (error - square_part)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_documented(
    "The weighted mean of -log(predictions) for labels of 1 and -log(1 - predictions) for 0.",
    more="\n      epsilon: a small number that keeps logarithms finite.",
)
def log_loss(
    labels,
    predictions,
    weights=1.0,
    epsilon=1e-7,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
):
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        labels, predictions = both_float(labels, predictions)
        of_ones = labels * gen_ops.log(predictions + epsilon)
        of_zeros = (1 - labels) * gen_ops.log(1 - predictions + epsilon)
        losses = -of_ones - of_zeros
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_documented("The weighted mean of (predictions - labels)^2.")
def mean_squared_error(
    labels,
    predictions,
    weights=1.0,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
):
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        labels, predictions = both_float(labels, predictions)
        losses = gen_ops.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
):
    """The weighted mean of the cross entropy of labels in [0, 1] and sigmoid(logits).

    Args:
      multi_class_labels: a Tensor of the shape of logits, each label by itself.
      logits: a Tensor of a floating type, [batch, classes].
      weights: a scalar, or a Tensor of the rank of logits whose axes have their sizes or 1.
      label_smoothing: s above 0 takes labels * (1 - s) + s / 2 for labels.
      scope, loss_collection, reduction: as for compute_weighted_loss.

    Raises:
      ValueError: if shapes or weights do not fit, or labels or logits are None.
    """
    check_given(multi_class_labels=multi_class_labels, logits=logits)
    values = [logits, multi_class_labels, weights]
    with name_scope(scope, "sigmoid_cross_entropy_loss", values) as scope:
        logits = convert(logits)
        labels = cast(multi_class_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=_LOSSES,
    reduction=_BY_NONZERO,
):
    """The weighted mean of the cross entropy of labels, which are probabilities, and softmax(logits).

    Args:
      onehot_labels: a Tensor of the shape of logits; gradients do not go to it.
      logits: a Tensor of a floating type, [batch, classes].
      weights: a scalar, or a Tensor of shape [batch].
      label_smoothing: s above 0 takes labels * (1 - s) + s / classes for labels.
      scope, loss_collection, reduction: as for compute_weighted_loss.

    Raises:
      ValueError: if shapes or weights do not fit, or labels or logits are None.
    """
    check_given(onehot_labels=onehot_labels, logits=logits)
    values = [logits, onehot_labels, weights]
    with name_scope(scope, "softmax_cross_entropy_loss", values) as scope:
        logits = convert(logits)
        dtype = logits.dtype.base_dtype
        labels = cast(onehot_labels, dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = cast(gen_ops.shape(labels)[1], dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels, logits, weights=1.0, scope=None, loss_collection=_LOSSES, reduction=_BY_NONZERO
):
    """The weighted mean of the cross entropy of labels, which are numbers of classes, and softmax(logits).

    Args:
      labels: int32 or int64, [batch, ...]; a last axis of size 1 too many is taken away.
      logits: a Tensor of a floating type, [batch, ..., classes].
      weights: a scalar, or a Tensor of the rank of labels whose axes have their sizes or 1.
      scope, loss_collection, reduction: as for compute_weighted_loss.

    Raises:
      ValueError: if shapes or weights do not fit, or labels or logits are None.
    """
    check_given(labels=labels, logits=logits)
    values = [logits, labels, weights]
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", values) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        weights = _of_rank(weights, labels.shape.ndims)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _of_rank(weights, rank):
    """Weights without a last axis that is one too many."""
    if isinstance(weights, (int, float)):
        count_more(-1)  # TensorFlow makes a Tensor of them here, and not again in what follows
        return weights
    weights = convert(weights)
    has_more = rank is not None and weights.shape.ndims == rank + 1
    return squeeze(weights, [-1]) if has_more else weights

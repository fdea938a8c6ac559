"""tf.contrib.losses: losses with predictions before labels, and weights of samples as a vector."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._measures import distances
from millrace._measures import losses as loss_of
from millrace._measures.losses import both_float, check_given
from millrace._ops.arrays import reshape, shape


def _spread(weights, rank):
    """Weights of samples with the rank of the losses: axes of size 1 follow those that there are."""
    if isinstance(weights, (int, float)) or rank is None:
        return weights
    weights = convert(weights)
    missing = 0 if not weights.shape.ndims else rank - weights.shape.ndims
    if missing <= 0:
        return weights
    known = weights.shape.as_list()
    sizes = [shape(weights)[i] if size is None else size for i, size in enumerate(known)]
    return reshape(weights, [*sizes, *[1] * missing])


def compute_weighted_loss(losses, weights=1.0, scope=None):
    """The mean of losses whose weight is not 0, each times its weight; joins the collection LOSSES.

    Args:
      losses: a floating Tensor of shape [batch, ...].
      weights: a number, or a Tensor whose axes are the first ones of the losses' or have size 1.
      scope: the name scope.
    """
    values = convert(losses)
    return loss_of.compute_weighted_loss(values, _spread(weights, values.shape.ndims), scope)


def get_total_loss(add_regularization_losses=True, name="total_loss"):
    """The sum of the losses, and of the regularization losses unless told otherwise.

    Raises:
      ValueError: if there are none.
    """
    return loss_of.get_total_loss(add_regularization_losses, name)


def _pair(loss, predictions, labels, weights, scope, **more):
    predictions = convert(predictions) if predictions is not None else None
    rank = predictions.shape.ndims if predictions is not None else None
    return loss(labels, predictions, weights=_spread(weights, rank), scope=scope, **more)


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    """tf.losses.absolute_difference, with predictions before labels; weights may be of samples alone."""
    return _pair(distances.absolute_difference, predictions, labels, weights, scope)


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """tf.losses.mean_squared_error, with predictions before labels; weights may be of samples alone."""
    return _pair(distances.mean_squared_error, predictions, labels, weights, scope)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    """tf.losses.log_loss, with predictions before labels; weights may be of samples alone."""
    return _pair(distances.log_loss, predictions, labels, weights, scope, epsilon=epsilon)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """tf.losses.mean_pairwise_squared_error, with predictions before labels; weights of samples alone."""
    return loss_of.mean_pairwise_squared_error(labels, predictions, _spread(weights, 1), scope)


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    """tf.losses.cosine_distance, with predictions before labels; weights may be of samples alone."""
    return _pair(distances.cosine_distance, predictions, labels, weights, scope, axis=axis, dim=dim)


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    """tf.losses.sigmoid_cross_entropy, with logits before labels; weights may be of samples alone."""
    return _pair(
        distances.sigmoid_cross_entropy,
        logits,
        multi_class_labels,
        weights,
        scope,
        label_smoothing=label_smoothing,
    )


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    """tf.losses.softmax_cross_entropy, with logits before labels."""
    return distances.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    """tf.losses.sparse_softmax_cross_entropy, with logits before labels."""
    return distances.sparse_softmax_cross_entropy(labels, logits, weights, scope)


def hinge_loss(logits, labels=None, scope=None):
    """max(0, 1 - logits * labels) of each element, with labels of 0 as -1. It joins no collection.

    Args:
      logits, labels: Tensors of one shape; labels are 0 or 1.
      scope: the name scope.

    Raises:
      ValueError: if shapes differ, or there are no labels.
    """
    check_given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels]):
        labels, logits = both_float(labels, logits)
        return gen_ops.relu(1 - (2 * labels - 1) * logits)

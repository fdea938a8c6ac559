"""Losses by Keras's names: functions of (y_true, y_pred) that give one number for each sample."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._keras.settings import epsilon
from millrace._ops.arithmetic import argmax, cast
from millrace._ops.arrays import reshape
from millrace._ops.clipping import clip_by_value
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from millrace._ops.normalization import l2_normalize
from millrace._ops.reductions import reduce_max, reduce_mean, reduce_sum
from millrace._values import dtypes


def _both(y_true, y_pred):
    y_pred = convert(y_pred)
    return cast(convert(y_true), y_pred.dtype.base_dtype), y_pred


def mean_squared_error(y_true, y_pred):
    """The mean of squared differences along the last axis."""
    y_true, y_pred = _both(y_true, y_pred)
    return reduce_mean(gen_ops.squared_difference(y_pred, y_true), -1)


def mean_absolute_error(y_true, y_pred):
    """The mean of absolute differences along the last axis."""
    y_true, y_pred = _both(y_true, y_pred)
    return reduce_mean(gen_ops.abs(y_pred - y_true), -1)


def mean_absolute_percentage_error(y_true, y_pred):
    """A hundred times the mean of absolute differences by absolute true values."""
    y_true, y_pred = _both(y_true, y_pred)
    size = gen_ops.maximum(gen_ops.abs(y_true), epsilon())
    return 100.0 * reduce_mean(gen_ops.abs((y_true - y_pred) / size), -1)


def mean_squared_logarithmic_error(y_true, y_pred):
    """The mean of squared differences of log(x + 1)."""
    y_true, y_pred = _both(y_true, y_pred)
    first = gen_ops.log(gen_ops.maximum(y_pred, epsilon()) + 1.0)
    second = gen_ops.log(gen_ops.maximum(y_true, epsilon()) + 1.0)
    return reduce_mean(gen_ops.squared_difference(first, second), -1)


def hinge(y_true, y_pred):
    """The mean of max(1 - y_true * y_pred, 0)."""
    y_true, y_pred = _signs(y_true, y_pred)
    return reduce_mean(gen_ops.maximum(1.0 - y_true * y_pred, 0.0), -1)


def squared_hinge(y_true, y_pred):
    """The mean of max(1 - y_true * y_pred, 0)^2."""
    y_true, y_pred = _signs(y_true, y_pred)
    return reduce_mean(gen_ops.square(gen_ops.maximum(1.0 - y_true * y_pred, 0.0)), -1)


def _signs(y_true, y_pred):
    """Labels of 0 and 1 become -1 and 1; others stay."""
    y_true, y_pred = _both(y_true, y_pred)
    is_binary = gen_ops.logical_or(gen_ops.equal(y_true, 0.0), gen_ops.equal(y_true, 1.0))
    share = cast(gen_ops.all(is_binary, gen_ops.range(0, gen_ops.rank(y_true), 1)), y_pred.dtype)
    return share * (2.0 * y_true - 1.0) + (1.0 - share) * y_true, y_pred


def categorical_hinge(y_true, y_pred):
    """max(0, 1 + the largest wrong one - the right one)."""
    y_true, y_pred = _both(y_true, y_pred)
    right = reduce_sum(y_true * y_pred, -1)
    wrong = reduce_max((1.0 - y_true) * y_pred, -1)
    return gen_ops.maximum(wrong - right + 1.0, 0.0)


def logcosh(y_true, y_pred):
    """The mean of log(cosh(difference))."""
    y_true, y_pred = _both(y_true, y_pred)
    x = y_pred - y_true
    return reduce_mean(x + gen_ops.softplus(-2.0 * x) - 0.6931471805599453, -1)


def huber_loss(y_true, y_pred, delta=1.0):
    """0.5 * difference^2 up to delta, linear beyond, for each element."""
    y_true, y_pred = _both(y_true, y_pred)
    size = gen_ops.abs(y_pred - y_true)
    inner = gen_ops.minimum(size, delta)
    return 0.5 * gen_ops.square(inner) + delta * (size - inner)


def kullback_leibler_divergence(y_true, y_pred):
    """The sum of y_true * log(y_true / y_pred)."""
    y_true, y_pred = _both(y_true, y_pred)
    y_true, y_pred = clip_by_value(y_true, epsilon(), 1), clip_by_value(y_pred, epsilon(), 1)
    return reduce_sum(y_true * gen_ops.log(y_true / y_pred), -1)


def poisson(y_true, y_pred):
    """The mean of y_pred - y_true * log(y_pred)."""
    y_true, y_pred = _both(y_true, y_pred)
    return reduce_mean(y_pred - y_true * gen_ops.log(y_pred + epsilon()), -1)


def cosine_proximity(y_true, y_pred, axis=-1):
    """Minus the cosine of the angle between both."""
    y_true, y_pred = _both(y_true, y_pred)
    return -reduce_sum(l2_normalize(y_true, axis=axis) * l2_normalize(y_pred, axis=axis), axis)


def _logits(y_pred, op):
    """What probabilities were made of by an op, which is more precise; None if they were not."""
    made_by = y_pred.op
    while made_by.type == "Identity":
        made_by = made_by.inputs[0].op
    return made_by.inputs[0] if made_by.type == op else None


def _clipped(y_pred):
    return clip_by_value(y_pred, epsilon(), 1.0 - epsilon())


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0):
    """The mean cross entropy of independent classes.

    Args:
      y_true: 0 and 1; y_pred: probabilities, or logits if from_logits.
      label_smoothing: how far labels are moved towards one half, from 0 to 1.
    """
    y_true, y_pred = _both(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    logits = y_pred if from_logits else _logits(y_pred, "Sigmoid")
    if logits is not None:
        return reduce_mean(sigmoid_cross_entropy_with_logits(labels=y_true, logits=logits), -1)
    y_pred = _clipped(y_pred)
    made = y_true * gen_ops.log(y_pred + epsilon())
    return -reduce_mean(made + (1.0 - y_true) * gen_ops.log(1.0 - y_pred + epsilon()), -1)


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0):
    """The cross entropy of classes that exclude each other.

    Args:
      y_true: probabilities of classes along the last axis, mostly one-hot.
      y_pred: probabilities, or logits if from_logits.
      label_smoothing: how far labels are moved towards equal probabilities, from 0 to 1.
    """
    y_true, y_pred = _both(y_true, y_pred)
    if label_smoothing:
        classes = cast(gen_ops.shape(y_true)[-1], y_pred.dtype.base_dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    logits = y_pred if from_logits else _logits(y_pred, "Softmax")
    if logits is not None:
        return softmax_cross_entropy_with_logits_v2(labels=y_true, logits=logits)
    y_pred = y_pred / reduce_sum(y_pred, -1, keepdims=True)
    return -reduce_sum(y_true * gen_ops.log(_clipped(y_pred)), -1)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, axis=-1):
    """categorical_crossentropy where labels are numbers of classes."""
    y_pred = convert(y_pred)
    logits = y_pred if from_logits else _logits(y_pred, "Softmax")
    if logits is None:
        logits = gen_ops.log(_clipped(y_pred))
    shape = gen_ops.shape(logits)[:-1]
    labels = reshape(cast(convert(y_true), dtypes.int64), shape)
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def binary_accuracy(y_true, y_pred, threshold=0.5):
    """The share of y_pred on the side of the threshold that y_true says."""
    y_true, y_pred = _both(y_true, y_pred)
    above = cast(y_pred > threshold, y_pred.dtype.base_dtype)
    return reduce_mean(cast(gen_ops.equal(y_true, above), dtypes.float32), -1)


def categorical_accuracy(y_true, y_pred):
    """1 where the largest of y_true and y_pred are at the same place."""
    same = gen_ops.equal(argmax(convert(y_true), -1), argmax(convert(y_pred), -1))
    return cast(same, dtypes.float32)


def sparse_categorical_accuracy(y_true, y_pred):
    """1 where the largest of y_pred is at the place that y_true says."""
    best = argmax(convert(y_pred), -1)
    return cast(
        gen_ops.equal(reshape(cast(y_true, dtypes.int64), gen_ops.shape(best)), best), "float32"
    )


def _in_top_k(classes, y_pred, k):
    places = gen_ops.in_top_kv2(reshape(y_pred, [-1, gen_ops.shape(y_pred)[-1]]), classes, k)
    return cast(places, dtypes.float32)


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 where the largest of y_true is among the k largest of y_pred."""
    classes = argmax(convert(y_true), -1, output_type=dtypes.int32)
    return _in_top_k(reshape(classes, [-1]), convert(y_pred), k)


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5):
    """1 where the class that y_true says is among the k largest of y_pred."""
    return _in_top_k(reshape(cast(y_true, dtypes.int32), [-1]), convert(y_pred), k)


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine = cosine_similarity = cosine_proximity

LOSSES = {
    name: function
    for name, function in globals().copy().items()
    if callable(function)
    and getattr(function, "__module__", "") == __name__
    and not name.startswith("_")
    and "accuracy" not in name
}
METRICS = {
    **LOSSES,
    **{
        name: function
        for name, function in globals().copy().items()
        if callable(function) and name.endswith("accuracy") and not name.startswith("_")
    },
}

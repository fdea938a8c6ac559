"""tf.contrib.nn: activations and noise that keep means, and losses with their arguments the other way round."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from millrace._ops.random_values import random_uniform

# The least value of a scaled exponential linear unit: -scale * alpha.
_SELU_FLOOR = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout that keeps mean and variance of what scaled exponential linear units give (arXiv 1706.02515).

    Args:
      x: a floating Tensor.
      keep_prob: the share that is kept: a number in (0, 1] or a scalar Tensor.
      noise_shape: the shape of what decides, which broadcasts to that of x; that of x if None.
      seed: a seed for what is drawn.
      name: the name scope.

    Raises:
      ValueError: for a keep_prob that is none.
    """
    with name_scope(name, "alpha_dropout", [x]):
        x = convert(x)
        if isinstance(keep_prob, (int, float)):
            if not 0 < keep_prob <= 1:
                raise ValueError(
                    "keep_prob must be a scalar tensor or a float in the range (0, 1], got "
                    f"{keep_prob}"
                )
            if keep_prob == 1:
                return x
        keep = convert(keep_prob, x.dtype)
        shape = gen_ops.shape(x) if noise_shape is None else noise_shape
        drawn = random_uniform(shape, dtype=x.dtype, seed=seed)
        kept = gen_ops.floor(drawn + keep)
        # What takes the place of others moves and spreads the values: this undoes it.
        a = gen_ops.pow(keep + keep * (1 - keep) * _SELU_FLOOR**2, -0.5)
        b = -a * (1 - keep) * _SELU_FLOOR
        made = a * (x * kept + _SELU_FLOOR * (1 - kept)) + b
        made.set_shape(x.shape)
        return made


def scaled_softplus(x, alpha, clip=None, name=None):
    """alpha * log(1 + exp(x / alpha)), a smooth max(0, x).

    Args:
      x: a floating Tensor.
      alpha: how smooth it is: a positive number or Tensor.
      clip: the largest value; None for no limit.
      name: the name scope.
    """
    with name_scope(name, "scaled_softplus", [x, alpha]):
        x = convert(x)
        alpha = convert(alpha, x.dtype)
        made = alpha * gen_ops.softplus(x / alpha)
        return made if clip is None else gen_ops.minimum(made, convert(clip, x.dtype))


def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
    """tf.nn.softmax_cross_entropy_with_logits, with logits before labels."""
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
    """tf.nn.sparse_softmax_cross_entropy_with_logits, with logits before labels."""
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
    """tf.nn.sigmoid_cross_entropy_with_logits, with logits before labels."""
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)

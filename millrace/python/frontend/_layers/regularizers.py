"""Regularizers: functions of weights whose results join the loss, to keep the weights small."""

import math
import numbers

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import add_to_collection, get_collection, name_scope
from millrace._ops.arithmetic import add_n
from millrace._ops.reductions import reduce_sum


class Regularizer:
    """The base of tf.keras.regularizers: called with a Tensor, it gives a scalar."""

    def __call__(self, x):
        return 0.0


class L1L2(Regularizer):
    """l1 * sum(|x|) + l2 * sum(x^2).

    Args:
      l1, l2: finite numbers; 0 leaves that part out.

    Raises:
      ValueError: if one is none.
    """

    def __init__(self, l1=0.0, l2=0.0):
        self.l1, self.l2 = _penalty(l1), _penalty(l2)

    def __call__(self, x):
        x = convert(x)
        dtype = x.dtype.base_dtype
        total = constant(0.0, dtype)
        if self.l1:
            total += constant(self.l1, dtype) * reduce_sum(gen_ops.abs(x))
        if self.l2:
            total += constant(self.l2, dtype) * reduce_sum(gen_ops.square(x))
        return total

    def get_config(self):
        return {"l1": self.l1, "l2": self.l2}


def _penalty(value):
    value = 0.0 if value is None else value
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(
            f"Value: {value} is not a valid regularization penalty number, expected a finite int or "
            "float value"
        )
    return float(value)


def l1(l=0.01):
    """L1L2 with this factor of the magnitudes."""
    return L1L2(l1=l)


def l2(l=0.01):
    """L1L2 with this factor of the squares."""
    return L1L2(l2=l)


def l1_l2(l1=0.01, l2=0.01):
    """L1L2 with both factors."""
    return L1L2(l1=l1, l2=l2)


# ---- tf.contrib.layers' --------------------------------------------------------------------------


def _check_scale(scale):
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")


def _scaled(scale, default_name, scope, magnitude):
    """The regularizer scale * magnitude(weights); one that gives None for a scale of 0."""
    _check_scale(scale)
    if isinstance(scale, numbers.Real) and scale == 0.0:
        return lambda _: None

    def regularizer(weights, name=None):
        with name_scope(scope if name is None else name, default_name, [weights]) as full_name:
            weights = convert(weights)
            factor = convert(scale, weights.dtype.base_dtype, name="scale")
            return gen_ops.mul(factor, magnitude(weights), name=full_name)

    return regularizer


def l1_regularizer(scale, scope=None):
    """A function of weights that gives scale * sum(|weights|).

    Args:
      scale: a float of at least 0; for 0.0 the function gives None.
      scope: a name scope.

    Raises:
      ValueError: if the scale is negative or an integer.
    """
    return _scaled(scale, "l1_regularizer", scope, lambda w: reduce_sum(gen_ops.abs(w)))


def l2_regularizer(scale, scope=None):
    """A function of weights that gives scale * sum(weights^2) / 2; see l1_regularizer."""
    return _scaled(scale, "l2_regularizer", scope, gen_ops.l2_loss)


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """The sum of l1_regularizer(scale_l1) and l2_regularizer(scale_l2)."""
    _check_scale(scale_l1)
    _check_scale(scale_l2)
    return sum_regularizer(
        [l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope or "l1_l2_regularizer"
    )


def sum_regularizer(regularizer_list, scope=None):
    """A function of weights that gives the sum of what these give; None if there are none."""
    regularizers = [each for each in regularizer_list if each is not None]
    if not regularizers:
        return None

    def regularizer(weights):
        with name_scope(scope, "sum_regularizer", [weights]) as full_name:
            parts = [part for part in (each(weights) for each in regularizers) if part is not None]
            return add_n(parts, name=full_name) if parts else None

    return regularizer


def apply_regularization(regularizer, weights_list=None):
    """The sum of a regularizer over weights, also put into the collection of regularization losses.

    Args:
      regularizer: a function of a Tensor that gives a scalar or None.
      weights_list: Tensors or Variables; the collection tf.GraphKeys.WEIGHTS if None or empty.

    Raises:
      ValueError: if it gives something that is no scalar, or there are no weights.
    """
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as full_name:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [constant(0.0) if each is None else each for each in penalties]
        for penalty in penalties:
            if penalty.shape.ndims != 0:
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.shape.ndims}."
                )
        total = add_n(penalties, name=full_name)
    add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total

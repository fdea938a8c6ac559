"""What is estimated from draws: moving means, percentiles, correlations, and what is believed after them."""

import hashlib

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.scalars import Normal
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, expand_dims, reshape, shape, transpose, zeros
from millrace._ops.complex_values import complex as complex_of
from millrace._ops.complex_values import conj, real
from millrace._ops.reductions import reduce_logsumexp, reduce_max, reduce_mean, reduce_sum
from millrace._ops.sorting import sort
from millrace._state.initializers import Zeros
from millrace._state.named_variables import get_variable, variable_scope


class SeedStream:
    """Seeds, each another: calling it gives the next one, the same ones for the same seed and salt.

    Args:
      seed: a number, a SeedStream, whose own seed is taken, or None, of which only None comes.
      salt: a text, of what draws by these seeds.
    """

    def __init__(self, seed, salt):
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt, self._count = salt, 0

    original_seed = property(lambda self: self._seed)
    salt = property(lambda self: self._salt)

    def __call__(self):
        self._count += 1
        if self._seed is None:
            return None
        told = str((self._seed, self._count, self._salt)).encode()
        return int(hashlib.md5(told).hexdigest()[:8], 16) & 0x7FFFFFFF


def reduce_weighted_logsumexp(
    logx, w=None, axis=None, keep_dims=False, return_sign=False, name=None
):
    """log|sum(w exp(logx))| along axes, without overflow.

    Args:
      logx: a Tensor.
      w: weights of any sign, which broadcast with it; ones if None.
      axis: which axes; all if None.
      keep_dims: True to keep them, with size 1.
      return_sign: True for (that, the sign of the sum).
      name: the name scope.
    """
    with name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = convert(logx, name="logx")
        weights = gen_ops.ones_like(logx) if w is None else convert(w, logx.dtype.base_dtype, "w")
        size = logx + gen_ops.log(gen_ops.abs(weights))
        most = gen_ops.stop_gradient(reduce_max(size, axis, keepdims=True))
        most = gen_ops.select_v2(gen_ops.is_finite(most), most, gen_ops.zeros_like(most))
        # Not weights times exp(logx - most), which is too large where the weight is next to nothing.
        total = reduce_sum(gen_ops.sign(weights) * gen_ops.exp(size - most), axis, keepdims=True)
        made, sign = gen_ops.log(gen_ops.abs(total)) + most, gen_ops.sign(total)
        if not keep_dims:
            made, sign = (reduce_sum(each, axis) for each in (made, sign))
        return (made, sign) if return_sign else made


# By how many elements are above, as TensorFlow counts: of two that are as near, another one is taken from below.
_PLACES = {"lower": gen_ops.ceil, "higher": gen_ops.floor, "nearest": gen_ops.round}


def percentile(
    x,
    q,
    axis=None,
    interpolation=None,
    keep_dims=False,
    validate_args=False,
    preserve_gradients=True,
    name=None,
):
    """The elements of x below which q percent of them are.

    Args:
      x: a Tensor of known rank.
      q: a number from 0 to 100, or a Tensor of such numbers.
      axis: an axis, or a list of several, that is looked along; all if None.
      interpolation: which of two elements is taken, "nearest", "lower" or "higher"; nearest if None.
      keep_dims: True to keep these axes, with size 1.
      validate_args, preserve_gradients: accepted.
      name: the name scope.

    Returns:
      a Tensor of the shape of q, and then of the axes of x that are left.

    Raises:
      ValueError: for another interpolation, or if the rank is not known.
    """
    kind = interpolation or "nearest"
    if kind not in _PLACES:
        raise ValueError(
            f"Argument 'interpolation' must be in {sorted(_PLACES)}.  Found {interpolation}"
        )
    with name_scope(name, "percentile", [x, q]):
        x, q = convert(x, name="x"), convert(q, name="q")
        rank = x.shape.ndims
        if rank is None or q.shape.ndims is None:
            raise ValueError("percentile needs Tensors of known rank")
        axes = list(range(rank)) if axis is None else np.ravel(axis).tolist()
        axes = sorted(each % rank for each in axes)
        kept = [each for each in range(rank) if each not in axes]
        sizes = [shape(x)[each : each + 1] for each in kept]
        left = concat(sizes, 0) if sizes else convert([], "int32")
        rows = sort(reshape(transpose(x, kept + axes), concat([left, [-1]], 0)), axis=-1)
        last = cast(shape(rows)[-1] - 1, "float64")
        place = last - _PLACES[kind]((1.0 - cast(q, "float64") / 100.0) * last)
        place = gen_ops.minimum(gen_ops.maximum(place, 0.0), last)
        made = gen_ops.gather_v2(rows, cast(place, "int32"), len(kept))
        # What q adds stands first.
        count = q.shape.ndims
        order = list(range(len(kept), len(kept) + count)) + list(range(len(kept)))
        made = transpose(made, order)
        if keep_dims:
            for each in axes:
                made = expand_dims(made, count + each)
        return made


def auto_correlation(x, axis=-1, max_lags=None, center=True, normalize=True, name=None):
    """How draws that follow each other go together: the mean of x[i] x[i + lag], for each lag.

    Args:
      x: a Tensor of floating or complex numbers and of known rank.
      axis: the axis along which they follow each other, of known size n.
      max_lags: the largest lag; n - 1 if None.
      center: True to take off the mean first.
      normalize: True to divide by what lag 0 has.
      name: the name scope.

    Returns:
      a Tensor like x, with max_lags + 1 elements along the axis.

    Raises:
      ValueError: if the rank or n is not known.
    """
    with name_scope(name, "auto_correlation", [x]):
        x = convert(x, name="x")
        rank = x.shape.ndims
        size = None if rank is None else x.shape[axis].value
        if size is None:
            raise ValueError(f"auto_correlation: the size along the axis must be known, of {x}")
        order = [each for each in range(rank) if each != axis % rank] + [axis % rank]
        x = transpose(x, order)
        if center:
            x = x - reduce_mean(x, -1, keepdims=True)
        # Zeros behind, so that what is turned on comes over none of the beginning.
        whole = 1 << (2 * size - 1).bit_length()
        filled = concat([x, zeros(concat([shape(x)[:-1], [whole - size]], 0), x.dtype)], -1)
        spectrum = gen_ops.fft(
            filled if x.dtype.is_complex else complex_of(filled, gen_ops.zeros_like(filled))
        )
        made = gen_ops.ifft(spectrum * conj(spectrum))
        lags = min(size - 1, size - 1 if max_lags is None else int(max_lags))
        made = (made if x.dtype.is_complex else real(made))[..., : lags + 1]
        counts = np.arange(size, size - lags - 1, -1).astype(x.dtype.as_numpy_dtype)
        made = made / counts
        if normalize:
            made = made / made[..., :1]
        back = np.argsort(order).tolist()
        return transpose(made, back)


def assign_moving_mean_variance(mean_var, variance_var, value, decay, name=None):
    """Moves variables towards the mean and the variance of what comes.

    Args:
      mean_var, variance_var: Variables of the shape of value.
      value: a Tensor.
      decay: how much of the old is kept, a number from 0 to 1.
      name: the name scope.

    Returns:
      (mean_var, variance_var) as they are then, Tensors.
    """
    with name_scope(name, "assign_moving_mean_variance", [value, decay]):
        kind = mean_var.dtype.base_dtype
        value, decay = convert(value, kind), convert(decay, kind)
        apart = value - convert(mean_var)
        with control_dependencies([apart]):
            mean = mean_var.assign_add((1.0 - decay) * apart)
        less = (1.0 - decay) * (convert(variance_var) - decay * gen_ops.square(apart))
        variance = variance_var.assign_sub(less)
        return convert(mean), convert(variance)


def moving_mean_variance(value, decay, collections=None, name=None):
    """(mean, variance) of what comes, in variables of their own that begin at 0; see assign_moving_mean_variance.

    Args:
      value: a Tensor of known shape.
      decay, name: as there.
      collections: those of the variables.
    """
    with variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert(value, name="value")
        made = [
            get_variable(
                each,
                value.shape,
                value.dtype.base_dtype,
                Zeros(),
                trainable=False,
                collections=collections,
            )
            for each in ("mean", "variance")
        ]
        return assign_moving_mean_variance(*made, value, decay)


def assign_log_moving_mean_exp(log_mean_exp_var, log_value, decay, name=None):
    """Moves a Variable that is the logarithm of a mean towards one of what comes, without overflow.

    Args:
      log_mean_exp_var: the Variable, of the shape of log_value.
      log_value: the logarithm of what comes.
      decay: how much of the old is kept, a number between 0 and 1.
      name: the name scope.

    Returns:
      the Variable's value then: log(decay exp(old) + (1 - decay) exp(log_value)).
    """
    with name_scope(name, "assign_log_moving_mean_exp", [log_value, decay]):
        kind = log_mean_exp_var.dtype.base_dtype
        log_value, decay = convert(log_value, kind), convert(decay, kind)
        old = convert(log_mean_exp_var) + gen_ops.log(decay)
        new = log_value + gen_ops.log1p(-decay)
        both = reduce_logsumexp(gen_ops.pack([old, new]), 0)
        return convert(log_mean_exp_var.assign(both))


def _after(prior, scale, s, n):
    if not isinstance(prior, Normal):
        raise TypeError(
            f"Expected prior to be an instance of type Normal, not {type(prior).__name__}"
        )
    if s.dtype != prior.dtype:
        raise TypeError(
            f"Observation sum s.dtype does not match prior dtype: {s.dtype.name} vs. {prior.dtype.name}"
        )
    n, scale = cast(n, prior.dtype), convert(scale, prior.dtype)
    precision = gen_ops.reciprocal(gen_ops.square(prior.scale))
    of_each = gen_ops.reciprocal(gen_ops.square(scale))
    variance = gen_ops.reciprocal(precision + n * of_each)
    return (prior.loc * precision + convert(s) * of_each) * variance, variance, scale


def normal_conjugates_known_scale_posterior(prior, scale, s, n):
    """What is believed of a normal mean after n draws of a known scale.

    Args:
      prior: what was believed before, a Normal.
      scale: the standard deviation of draws.
      s: the sum of the draws, a Tensor of the prior's type.
      n: how many.

    Returns:
      a Normal.

    Raises:
      TypeError: if prior is something else, or s of another type.
    """
    loc, variance, _ = _after(prior, scale, s, n)
    return Normal(loc=loc, scale=gen_ops.sqrt(variance))


def normal_conjugates_known_scale_predictive(prior, scale, s, n):
    """What is believed of the next draw after n draws; see normal_conjugates_known_scale_posterior."""
    loc, variance, scale = _after(prior, scale, s, n)
    return Normal(loc=loc, scale=gen_ops.sqrt(variance + gen_ops.square(scale)))

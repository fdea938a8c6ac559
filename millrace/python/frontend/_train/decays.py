"""Learning rates that fall as the global step grows: Tensors, worked out anew in each step."""

import math

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._values import dtypes


def _steps(function, global_step, dtype):
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")
    return cast(global_step, dtype)


def _share(function, global_step, decay_steps, staircase, dtype):
    """How many times decay_steps have passed; a whole number of times with `staircase`."""
    share = _steps(function, global_step, dtype) / cast(decay_steps, dtype)
    return gen_ops.floor(share) if staircase else share


def exponential_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * decay_rate ^ (global_step / decay_steps).

    Args:
      learning_rate: the rate at step 0.
      global_step: a Variable, Tensor or number of steps.
      decay_steps: after how many steps the rate is decay_rate times itself.
      decay_rate: that factor.
      staircase: True to let the rate fall in jumps, at multiples of decay_steps.
      name: the name scope.

    Raises:
      ValueError: if there is no global_step.
    """
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step]) as scope:
        rate = convert(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base_dtype
        share = _share("exponential_decay", global_step, decay_steps, staircase, dtype)
        return gen_ops.mul(rate, gen_ops.pow(cast(decay_rate, dtype), share), name=scope)


def natural_exp_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * exp(-decay_rate * global_step / decay_steps); arguments as exponential_decay."""
    factor = gen_ops.exp(gen_ops.neg(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, factor, staircase, name)


def inverse_time_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate / (1 + decay_rate * global_step / decay_steps); arguments as exponential_decay."""
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step]) as scope:
        rate = convert(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base_dtype
        share = _share("inverse_time_decay", global_step, decay_steps, staircase, dtype)
        return gen_ops.real_div(rate, 1 + cast(decay_rate, dtype) * share, name=scope)


def polynomial_decay(
    learning_rate,
    global_step,
    decay_steps,
    end_learning_rate=0.0001,
    power=1.0,
    cycle=False,
    name=None,
):
    """From learning_rate to end_learning_rate in decay_steps, along (1 - step / decay_steps) ^ power.

    Args:
      learning_rate: the rate at step 0.
      global_step: a Variable, Tensor or number of steps.
      decay_steps: after how many steps the end is reached.
      end_learning_rate: the rate at the end.
      power: 1 for a straight line.
      cycle: True to go up again after the end, to where the next multiple of decay_steps leads down
        from; False to stay.
      name: the name scope.

    Raises:
      ValueError: if there is no global_step.
    """
    with name_scope(name, "PolynomialDecay", [learning_rate, global_step]) as scope:
        rate = convert(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base_dtype
        end = cast(end_learning_rate, dtype)
        step = _steps("polynomial_decay", global_step, dtype)
        length = cast(decay_steps, dtype)
        if cycle:
            rounds = gen_ops.ceil(step / length)
            length = length * gen_ops.maximum(rounds, cast(1, dtype))
        else:
            step = gen_ops.minimum(step, length)
        left = gen_ops.pow(1 - step / length, cast(power, dtype))
        return gen_ops.add((rate - end) * left, end, name=scope)


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """From learning_rate to alpha times it in decay_steps, along half a wave of a cosine.

    Args:
      learning_rate: the rate at step 0.
      global_step: a Variable, Tensor or number of steps.
      decay_steps: after how many steps the end is reached.
      alpha: the share of the rate that is left then.
      name: the name scope.

    Raises:
      ValueError: if there is no global_step.
    """
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate = convert(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base_dtype
        length = cast(decay_steps, dtype)
        step = gen_ops.minimum(_steps("cosine_decay", global_step, dtype), length)
        wave = 0.5 * (1.0 + gen_ops.cos(convert(math.pi, dtype) * (step / length)))
        return rate * ((1 - alpha) * wave + alpha)


def piecewise_constant(x, boundaries, values, name=None):
    """values[0] for x up to boundaries[0], values[1] up to boundaries[1] ..., values[-1] above all.

    Args:
      x: a scalar: a Variable or Tensor.
      boundaries: numbers or Tensors of the type of x, rising.
      values: numbers or Tensors of one type, one more than boundaries.
      name: the name scope.

    Raises:
      ValueError: if numbers or types don't fit.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant", [x, *boundaries, *values]):
        x = convert(x)
        limits = [_limit(each, x.dtype.base_dtype) for each in boundaries]
        values = [convert(value) for value in values]
        for value in values[1:]:
            if value.dtype.base_dtype != values[0].dtype.base_dtype:
                raise ValueError(
                    "Values must have elements all with the same dtype "
                    f"({values[0].dtype.base_dtype!r} vs {value.dtype.base_dtype!r})."
                )
        chosen = values[-1]
        for limit, value in reversed(list(zip(limits, values))):
            chosen = gen_ops.select(gen_ops.less_equal(x, limit), value, chosen)
        return gen_ops.identity(chosen)


def _limit(boundary, dtype):
    made = convert(boundary)
    own = made.dtype.base_dtype
    if own == dtype:
        return made
    # A step counts in int64, and numbers in programs are int32.
    if (own, dtype) == (dtypes.int32, dtypes.int64):
        return cast(made, dtype)
    raise ValueError(f"Boundaries ({own!r}) must have the same dtype as x ({dtype!r}).")

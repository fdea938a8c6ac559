"""Learning rates that fall along a cosine again and again, or along one and a line."""

import math

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.random_values import random_normal


def _numbers(function, learning_rate, global_step, steps):
    """The rate, and step and number of steps in its type."""
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")
    rate = convert(learning_rate, name="initial_learning_rate")
    dtype = rate.dtype.base_dtype
    return rate, cast(global_step, dtype), cast(steps, dtype)


def _wave(share):
    """Down from 1 to 0 as the share goes from 0 to 1."""
    return 0.5 * (1.0 + gen_ops.cos(convert(math.pi, share.dtype.base_dtype) * share))


def cosine_decay_restarts(
    learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None
):
    """cosine_decay in periods, each of which begins at the top again.

    Args:
      learning_rate: the rate at step 0.
      global_step: a Variable, Tensor or number of steps.
      first_decay_steps: how long the first period is.
      t_mul: how many times longer each period is than the one before.
      m_mul: how many times higher each begins.
      alpha: the share of the rate that is always left.
      name: the name scope.

    Raises:
      ValueError: if there is no global_step.
    """
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate, step, length = _numbers(
            "cosine_decay_restarts", learning_rate, global_step, first_decay_steps
        )
        dtype = rate.dtype.base_dtype
        share, longer = step / length, cast(t_mul, dtype)

        def growing():
            number = gen_ops.floor(gen_ops.log(1.0 - share * (1.0 - longer)) / gen_ops.log(longer))
            own_length = gen_ops.pow(longer, number)
            begin = (1.0 - own_length) / (1.0 - longer)
            return number, (share - begin) / own_length

        def alike():
            number = gen_ops.floor(share)
            return number, share - number

        if isinstance(t_mul, (int, float)):
            number, share = alike() if t_mul == 1 else growing()
        else:
            number, share = cond(gen_ops.equal(longer, 1.0), alike, growing)
        height = gen_ops.pow(cast(m_mul, dtype), number)
        return gen_ops.mul(rate, (1 - alpha) * height * _wave(share) + alpha, name=scope)


def linear_cosine_decay(
    learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None
):
    """learning_rate * ((alpha + linear) * wave + beta), in which linear falls from 1 to 0.

    Args:
      learning_rate: the rate at step 0.
      global_step: a Variable, Tensor or number of steps.
      decay_steps: after how many steps the end is reached.
      num_periods: how many whole waves of the cosine there are till then.
      alpha, beta: see above.
      name: the name scope.

    Raises:
      ValueError: if there is no global_step.
    """
    with name_scope(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        rate, step, length = _numbers(
            "linear_cosine_decay", learning_rate, global_step, decay_steps
        )
        step = gen_ops.minimum(step, length)
        wave = _wave(2.0 * num_periods * (step / length))
        return gen_ops.mul(rate, (alpha + (length - step) / length) * wave + beta, name=scope)


def noisy_linear_cosine_decay(
    learning_rate,
    global_step,
    decay_steps,
    initial_variance=1.0,
    variance_decay=0.55,
    num_periods=0.5,
    alpha=0.0,
    beta=0.001,
    name=None,
):
    """linear_cosine_decay to whose line is added what chance draws, of variance v / (1 + step) ^ d.

    Args:
      learning_rate, global_step, decay_steps, num_periods, alpha, beta, name: as linear_cosine_decay.
      initial_variance: v.
      variance_decay: d.

    Raises:
      ValueError: if there is no global_step.
    """
    with name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        rate, step, length = _numbers(
            "noisy_linear_cosine_decay", learning_rate, global_step, decay_steps
        )
        dtype = rate.dtype.base_dtype
        step = gen_ops.minimum(step, length)
        variance = cast(initial_variance, dtype) / gen_ops.pow(
            1.0 + step, cast(variance_decay, dtype)
        )
        linear = (length - step) / length
        noise = random_normal(linear.shape, stddev=gen_ops.sqrt(variance), dtype=dtype)
        wave = _wave(2.0 * num_periods * (step / length))
        return gen_ops.mul(rate, (alpha + linear + noise) * wave + beta, name=scope)

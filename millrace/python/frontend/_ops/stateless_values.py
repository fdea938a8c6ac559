"""Random values that two seeds decide and nothing else: tf.random.stateless_*."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.random_values import multinomial, sizes_of
from millrace._values import dtypes


def stateless_random_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    """Values from minval up to and without maxval (1 for floating types).

    Args:
      shape: a vector of sizes.
      seed: two integers.
      minval, maxval: scalars; both None for all integers of the type.
      dtype: the type.
      name: the name scope.

    Raises:
      ValueError: for an integer type with only one bound.
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer dtype {dtype.name}, minval and maxval must be both None or both given"
        )
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        if dtype.is_integer and minval is None:
            return gen_ops.stateless_random_uniform_full_int(
                sizes_of(shape), seed, dtype=dtype, name=scope
            )
        low = convert(minval, dtype, "min")
        high = convert(1 if maxval is None else maxval, dtype, "max")
        if dtype.is_integer:
            return gen_ops.stateless_random_uniform_int(
                sizes_of(shape), seed, low, high, name=scope
            )
        drawn = gen_ops.stateless_random_uniform(sizes_of(shape), seed, dtype=dtype)
        return gen_ops.add(gen_ops.mul(drawn, gen_ops.sub(high, low)), low, name=scope)


def stateless_random_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Values of a normal distribution, that two seeds decide."""
    return _normal("stateless_random_normal", shape, seed, mean, stddev, dtype, name)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """As `stateless_random_normal`, values beyond two standard deviations drawn again."""
    return _normal("stateless_truncated_normal", shape, seed, mean, stddev, dtype, name)


def _normal(op, shape, seed, mean, stddev, dtype, name):
    with name_scope(name, op, [shape, seed, mean, stddev]) as scope:
        dtype = dtypes.as_dtype(dtype)
        mean, stddev = convert(mean, dtype, "mean"), convert(stddev, dtype, "stddev")
        drawn = getattr(gen_ops, op)(sizes_of(shape), seed, dtype=dtype)
        return gen_ops.add(gen_ops.mul(drawn, stddev), mean, name=scope)


def stateless_multinomial(logits, num_samples, seed, output_dtype=dtypes.int64, name=None):
    """Classes drawn with the probabilities softmax(logits), that two seeds decide."""
    with name_scope(name, "stateless_multinomial", [logits, seed]) as scope:
        samples = convert(num_samples, dtypes.int32, "num_samples")
        return gen_ops.stateless_multinomial(
            logits, samples, seed, output_dtype=output_dtype, name=scope
        )


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """`multinomial` with its arguments in the newer order."""
    return multinomial(logits, num_samples, seed, name, dtype or dtypes.int64)


def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """`stateless_multinomial` with its arguments in the newer order."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name)


def stateless_random_gamma(shape, seed, alpha, beta=None, dtype=dtypes.float32, name=None):
    """Gamma distributed values.

    Args:
      shape: a vector of sizes, which ends with those of alpha and beta broadcast.
      seed: two integers.
      alpha: the shapes of the distributions, of `dtype`.
      beta: their inverse scales; 1 if None.
      dtype: float16, float32 or float64.
      name: a name scope.
    """
    with name_scope(name, "stateless_random_gamma", [shape, seed, alpha, beta]):
        alpha = convert(alpha, dtypes.as_dtype(dtype))
        beta = convert(1 if beta is None else beta, alpha.dtype)
        size = gen_ops.broadcast_args(gen_ops.shape(alpha), gen_ops.shape(beta))
        values = gen_ops.stateless_random_gamma_v2(
            sizes_of(shape), seed, gen_ops.broadcast_to(alpha, size)
        )
        # A gamma that is too small for the type is the least number above 0.
        tiny = convert(np.finfo(alpha.dtype.as_numpy_dtype).tiny, alpha.dtype)
        return gen_ops.maximum(tiny, values / beta)


def stateless_random_poisson(shape, seed, lam, dtype=dtypes.int32, name=None):
    """Poisson distributed values of rates `lam`, whose sizes the shape ends with."""
    with name_scope(name, "stateless_random_poisson", [shape, seed, lam]) as scope:
        return gen_ops.stateless_random_poisson(
            sizes_of(shape), seed, lam, dtype=dtypes.as_dtype(dtype), name=scope
        )


def stateless_random_binomial(shape, seed, counts, probs, output_dtype=dtypes.int32, name=None):
    """Numbers of successes in `counts` trials with probability `probs`.

    The shape ends with the sizes of both, broadcast.
    """
    with name_scope(name, "stateless_random_binomial", [shape, seed, counts, probs]) as scope:
        probs = convert(probs, hint=dtypes.float32)
        counts = cast(convert(counts, hint=probs.dtype), probs.dtype)
        return gen_ops.stateless_random_binomial(
            sizes_of(shape), seed, counts, probs, dtype=dtypes.as_dtype(output_dtype), name=scope
        )

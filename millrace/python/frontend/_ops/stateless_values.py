"""Random values that two seeds decide and nothing else: tf.random.stateless_*."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
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

"""Random values. A seed for the graph (tf.set_random_seed), for an op, or both, makes them repeat."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.node_counts import counted_as, counted_nodes
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = [
    "get_seed",
    "multinomial",
    "random_gamma",
    "random_normal",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "set_random_seed",
    "truncated_normal",
]

_DEFAULT_GRAPH_SEED = 87654321


def set_random_seed(seed):
    """Sets the seed of the default graph: ops made from now on draw the same numbers in each run."""
    get_default_graph().seed = seed


def get_seed(op_seed):
    """(seed, seed2) for an op: from its own seed and the graph's; (None, None) draws at random."""
    graph = get_default_graph()
    if graph.seed is not None:
        if op_seed is None:
            # Ops differ from each other, and repeat from run to run.
            op_seed = counted_nodes(graph)
        seeds = graph.seed % 2**31, op_seed % 2**31
    elif op_seed is not None:
        seeds = _DEFAULT_GRAPH_SEED, op_seed % 2**31
    else:
        return None, None
    # Both zero would mean "at random" to the op.
    return seeds if seeds != (0, 0) else (0, 2**31 - 1)


def sizes_of(shape):
    """A shape as the vector that ops take."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return convert(shape, name="shape", hint=dtypes.int32)


def seeds(seed):
    """What an op that draws takes as attributes, from the graph's seed and its own."""
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Values from minval up to and without maxval (1 for floating types; needed for integers)."""
    dtype = dtypes.as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("Must specify maxval for integer dtype %r" % dtype)
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        low = convert(minval, dtype, "min")
        high = convert(maxval, dtype, "max")
        if dtype.is_integer:
            return gen_ops.random_uniform_int(sizes_of(shape), low, high, **seeds(seed), name=scope)
        drawn = gen_ops.random_uniform(sizes_of(shape), dtype=dtype, **seeds(seed))
        return gen_ops.add(gen_ops.mul(drawn, gen_ops.sub(high, low)), low, name=scope)


def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Values of a normal distribution."""
    return _normal(
        "random_standard_normal", "random_normal", shape, mean, stddev, dtype, seed, name
    )


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Values of a normal distribution, those beyond two standard deviations drawn again."""
    return _normal("truncated_normal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _normal(op, default_name, shape, mean, stddev, dtype, seed, name):
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        mean = convert(mean, dtypes.as_dtype(dtype), "mean")
        stddev = convert(stddev, dtypes.as_dtype(dtype), "stddev")
        drawn = getattr(gen_ops, op)(sizes_of(shape), dtype=dtype, **seeds(seed))
        return gen_ops.add(gen_ops.mul(drawn, stddev), mean, name=scope)


def random_shuffle(value, seed=None, name=None):
    """The slices along the first axis in random order."""
    return gen_ops.random_shuffle(value, **seeds(seed), name=name)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=dtypes.int64):
    """Classes drawn with the probabilities softmax(logits).

    Args:
      logits: a matrix, a row for each drawing.
      num_samples: how many classes are drawn for each row, a scalar.
      seed: a seed for the op.
      name: a name for the node.
      output_dtype: int64 or int32.

    Returns:
      a Tensor of shape [rows, num_samples].
    """
    with name_scope(name, "multinomial", [logits]) as scope:
        logits = convert(logits, name="logits")
        drawn = seeds(seed)  # before the next constant, as in TensorFlow
        samples = convert(num_samples, dtypes.int32, "num_samples")
        return gen_ops.multinomial(logits, samples, output_dtype=output_dtype, **drawn, name=scope)


def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Values of gamma distributions.

    Args:
      shape: how many are drawn for each distribution.
      alpha: a Tensor of shapes of distributions.
      beta: a Tensor of their inverse scales; None for 1.
      dtype: the type.
      seed: a seed for the op.
      name: the name scope.

    Returns:
      a Tensor of shape `shape` + the shape to which alpha and beta broadcast.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]) as scope:
        alpha = convert(alpha, dtype, "alpha")
        beta = convert(1 if beta is None else beta, dtype, "beta")
        sizes = sizes_of(shape)
        with counted_as(2):
            whole = gen_ops.broadcast_args(gen_ops.shape(alpha), gen_ops.shape(beta))
            spread = gen_ops.broadcast_to(alpha, whole)
        drawn = gen_ops.random_gamma(sizes, spread, **seeds(seed))
        # The smallest number for 0: who takes logarithms of a sample must not find it.
        smallest = convert(np.finfo(alpha.dtype.base_dtype.as_numpy_dtype).tiny, drawn.dtype)
        return gen_ops.maximum(smallest, gen_ops.real_div(drawn, beta), name=scope)


def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    """Values of Poisson distributions.

    Args:
      lam: a Tensor of rates.
      shape: how many are drawn for each rate.
      dtype: the type.
      seed: a seed for the op.
      name: a name for the node.

    Returns:
      a Tensor of shape `shape` + lam.shape.
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        return gen_ops.random_poisson_v2(sizes_of(shape), lam, dtype=dtype, **seeds(seed))

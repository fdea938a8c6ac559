"""Values that follow from shapes and lengths: masks, crops, the identity."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import one_hot, stack
from millrace._ops.random_values import random_uniform
from millrace._ops.reductions import reduce_all, reduce_max
from millrace._values import dtypes

__all__ = [
    "eye",
    "log_sigmoid",
    "op_scope",
    "parallel_stack",
    "random_crop",
    "sequence_mask",
]


def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    """Which places are within a length: element [i, ..., j] is j < lengths[i, ...].

    Args:
      lengths: a Tensor of an integer type.
      maxlen: the size of the new last axis, a scalar; the largest length if None.
      dtype: the type of the result: true is 1.
      name: the name scope.

    Returns:
      a Tensor of shape lengths.shape + [maxlen].

    Raises:
      ValueError: if maxlen is no scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert(lengths)
        kind = lengths.dtype.base_dtype
        if maxlen is None:
            size = gen_ops.maximum(constant(0, kind), reduce_max(lengths))
        else:
            size = convert(maxlen)
            kind = size.dtype.base_dtype
        if size.shape.ndims not in (None, 0):
            raise ValueError(f"maxlen must be scalar for sequence_mask, got shape {size.shape}")
        count_more(lengths.dtype.base_dtype == kind)  # TensorFlow casts lengths in any case
        places = gen_ops.range(constant(0, kind), size, constant(1, kind))
        made = gen_ops.less(places, gen_ops.expand_dims(cast(lengths, kind), -1))
        return cast(made, dtype)


def random_crop(value, size, seed=None, name=None):
    """A part of this size at a random place.

    Args:
      value: a Tensor.
      size: a vector of sizes, one per axis.
      seed: a seed for what is drawn.
      name: the name scope.

    Raises:
      InvalidArgumentError: when it runs, if the value is smaller.
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert(value, name="value")
        size = convert(size, dtypes.int32, name="size")
        shape = gen_ops.shape(value)
        count_more(1)  # one of the texts twice
        told = ["Need value.shape >= size, got ", shape, size]
        check = gen_ops.assert_(
            reduce_all(gen_ops.greater_equal(shape, size)), told, summarize=1000
        )
        with control_dependencies([check]):
            room = gen_ops.identity(shape) - size + 1
            drawn = random_uniform(
                gen_ops.shape(shape), maxval=dtypes.int32.max, dtype=dtypes.int32, seed=seed
            )
            return gen_ops.slice(value, gen_ops.floor_mod(drawn, room), size, name=scope)


def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """A matrix with ones on its diagonal and zeros elsewhere.

    Args:
      num_rows, num_columns: its sizes, scalars; the matrix is square if there is but one.
      batch_shape: a vector of sizes of axes before; None for none.
      dtype: the type.
      name: the name scope.
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        columns = num_rows if num_columns is None else num_columns
        made = one_hot(gen_ops.range(0, num_rows, 1), columns, dtype=dtype)
        if batch_shape is None:
            return made
        batch = convert(batch_shape, dtypes.int32)
        return gen_ops.broadcast_to(made, gen_ops.concat_v2([batch, gen_ops.shape(made)], 0))


def log_sigmoid(x, name=None):
    """log(1 / (1 + exp(-x))), element by element, without overflow."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert(x, name="x")
        return gen_ops.neg(gen_ops.softplus(-x), name=scope)


def parallel_stack(values, name="parallel_stack"):
    """Tensors of one known shape as one Tensor with a new first axis.

    Raises:
      ValueError: if there are none.
    """
    if not values:
        raise ValueError("parallel_stack needs at least one Tensor")
    return stack(values, name=name)


def op_scope(values, name, default_name=None):
    """name_scope with its arguments in the older order."""
    return name_scope(name, default_name, values)

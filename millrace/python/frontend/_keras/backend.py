"""Functions of tf.keras.backend on Tensors."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.conversion import convert
from millrace._keras import sessions
from millrace._keras.settings import floatx
from millrace._ops.arithmetic import cast
from millrace._ops.arithmetic import range as range_of
from millrace._ops.arrays import concat, reshape, squeeze
from millrace._ops.arrays import one_hot as one_hot_of
from millrace._ops.arrays import shape as shape_of
from millrace._ops.arrays import tile as tiled
from millrace._ops.arrays import transpose as transposed
from millrace._ops.broadcasting import repeat as repeated
from millrace._ops.debug import Print
from millrace._ops.layers import dropout as nn_dropout
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.normalization import batch_normalization as nn_batch_normalization
from millrace._ops.normalization import fused_batch_norm, moments
from millrace._ops.normalization import l2_normalize as nn_l2_normalize
from millrace._ops.reductions import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from millrace._ops.sparse import sparse_tensor_to_dense
from millrace._values import dtypes
from millrace._graph.sparse_tensor import SparseTensor


def _numbers(x):
    """A Tensor, bools as numbers."""
    x = convert(x)
    return cast(x, floatx()) if x.dtype.base_dtype == dtypes.bool else x


# ---- Along axes -------------------------------------------------------------------------------------


def mean(x, axis=None, keepdims=False):
    """The mean along axes, of bools as numbers."""
    return reduce_mean(_numbers(x), axis, keepdims)


def sum(x, axis=None, keepdims=False):
    """The sum along axes."""
    return reduce_sum(x, axis, keepdims)


def prod(x, axis=None, keepdims=False):
    """The product along axes."""
    return reduce_prod(x, axis, keepdims)


def max(x, axis=None, keepdims=False):
    """The largest along axes."""
    return reduce_max(x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    """The smallest along axes."""
    return reduce_min(x, axis, keepdims)


def var(x, axis=None, keepdims=False):
    """The mean of squared differences from the mean along axes."""
    x = _numbers(x)
    return reduce_mean(gen_ops.square(x - reduce_mean(x, axis, True)), axis, keepdims)


def std(x, axis=None, keepdims=False):
    """The root of var."""
    return gen_ops.sqrt(var(x, axis, keepdims))


def all(x, axis=None, keepdims=False):
    """Whether all are true, or not 0, along axes."""
    return reduce_all(cast(x, dtypes.bool), axis, keepdims)


def any(x, axis=None, keepdims=False):
    """Whether one is true, or not 0, along axes."""
    return reduce_any(cast(x, dtypes.bool), axis, keepdims)


def l2_normalize(x, axis=None):
    """x divided by its norms along axes."""
    return nn_l2_normalize(x, axis=axis)


# ---- Element by element -----------------------------------------------------------------------------


def sqrt(x):
    """The square root, of negative numbers 0."""
    return gen_ops.sqrt(gen_ops.maximum(convert(x), 0.0))


def cast_to_floatx(x):
    """A Tensor or array in the type that models prefer."""
    return cast(x, floatx()) if hasattr(x, "graph") else convert(x, dtypes.as_dtype(floatx()))


def dropout(x, level, noise_shape=None, seed=None):
    """A share `level` of x is 0, the rest scaled so that the mean stays."""
    return nn_dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


def print_tensor(x, message=""):
    """x; prints it, with a message before it, when it is computed."""
    return Print(x, [x], message)


def switch(condition, then_expression, else_expression):
    """One of two Tensors, or of what two functions give: by tf.cond for a scalar, else element by element.

    Args:
      condition: a scalar, or a Tensor whose axes are the first ones of the others'.
      then_expression, else_expression: Tensors, or functions without arguments.

    Raises:
      ValueError: if the condition has more axes than the others.
    """
    condition = cast(condition, dtypes.bool)
    then_, else_ = (
        each if callable(each) else (lambda each=each: each)
        for each in (then_expression, else_expression)
    )
    if not condition.shape.ndims:
        return cond(condition, lambda: convert(then_()), lambda: convert(else_()))
    first, second = convert(then_()), convert(else_())
    missing = first.shape.ndims - condition.shape.ndims
    if missing < 0:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            f"`else_expression`. ndim(condition)={condition.shape.ndims}, "
            f"ndim(then_expression)={first.shape.ndims}"
        )
    if missing:
        condition = reshape(condition, gen_ops.concat_v2([shape_of(condition), [1] * missing], 0))
    return gen_ops.select_v2(condition, first, second)


def in_train_phase(x, alt, training=None):
    """`x` where the model trains, else `alt`: Tensors, or functions without arguments.

    Args:
      training: whether it trains: a bool, 0, 1 or a bool scalar; learning_phase() if None.
    """
    training = sessions.learning_phase() if training is None else training
    if isinstance(training, (bool, int)):
        chosen = x if training else alt
        return chosen() if callable(chosen) else chosen
    return switch(training, x, alt)


def in_test_phase(x, alt, training=None):
    """`alt` where the model trains, else `x`."""
    return in_train_phase(alt, x, training)


# ---- Products ---------------------------------------------------------------------------------------


def dot(x, y):
    """The product of matrices; of tensors along the last axis of x and the last but one of y."""
    x, y = convert(x), convert(y)
    if x.shape.ndims is not None and (x.shape.ndims > 2 or y.shape.ndims > 2):
        return tensordot(
            x, y, [[x.shape.ndims - 1], [y.shape.ndims - 2 if y.shape.ndims > 1 else 0]]
        )
    return matmul(x, y)


def batch_dot(x, y, axes=None):
    """The product of each sample of x with the same of y.

    Args:
      x, y: Tensors of two axes or more, the first of which is the batch. Where both have as many, more
        than three, all but the last two are batches.
      axes: the axis of x and that of y along which is summed, one of the last two of each; one number for
        both. None for the last of x and the last but one of y.

    Returns:
      a Tensor of shape [batch, the other axes of x, those of y], [batch, 1] where there are none.
    """
    x, y = convert(x), convert(y)
    ranks = x.shape.ndims, y.shape.ndims
    if None in ranks or 1 in ranks or 0 in ranks:
        raise ValueError(
            f"batch_dot needs Tensors of two axes or more, but they are of shape {x.shape} and {y.shape}"
        )
    if axes is None:
        axes = [ranks[0] - 1, ranks[1] - 2]
    axes = [axes, axes] if isinstance(axes, int) else list(axes)
    axes = [axis % rank for axis, rank in zip(axes, ranks)]
    if ranks == (2, 2):
        if axes[0] != axes[1]:
            x = transposed(x, [1, 0])
        made = reduce_sum(x * y, axes[1])
    else:
        more = ranks[0] - ranks[1]
        x, y = _longer(x, -more), _longer(y, more)
        made = matmul(
            x, y, adjoint_a=axes[0] != x.shape.ndims - 1, adjoint_b=axes[1] == y.shape.ndims - 1
        )
        if more:
            first = ranks[0] + ranks[1] - 3 if more > 0 else ranks[0] - 1
            made = squeeze(made, [first + i for i in range(abs(more))])
    return gen_ops.expand_dims(made, 1) if made.shape.ndims == 1 else made


def _longer(x, count):
    """x with `count` axes of size 1 behind it, if there are any to add."""
    if count <= 0:
        return x
    return reshape(x, gen_ops.concat_v2([shape_of(x), [1] * count], 0))


# ---- Shapes -----------------------------------------------------------------------------------------


def int_shape(x):
    """The shape as a tuple, None in it for what is not known; None if nothing is."""
    shape = x.shape
    return None if shape.ndims is None else tuple(shape.as_list())


def ndim(x):
    """The rank, or None."""
    return x.shape.ndims


def dtype(x):
    """The name of the type."""
    return x.dtype.base_dtype.name


def flatten(x):
    """x as a vector."""
    return reshape(x, [-1])


def batch_flatten(x):
    """[batch, ...] as [batch, n]."""
    x = convert(x)
    sizes = x.shape.as_list()[1:]
    size = -1 if None in sizes else int(_product(sizes))
    rows = shape_of(x)[0] if size == -1 else -1
    if size == -1:
        return reshape(x, gen_ops.pack([rows, -1]))
    return reshape(x, [rows, size])


def _product(sizes):
    made = 1
    for size in sizes:
        made *= size
    return made


def concatenate(tensors, axis=-1):
    """Tensors one behind the other along an axis."""
    if axis < 0:
        rank = convert(tensors[0]).shape.ndims
        axis = axis % rank if rank else 0
    return concat(list(tensors), axis)


def permute_dimensions(x, pattern):
    """x with its axes in another order."""
    return transposed(x, list(pattern))


def transpose(x):
    """x with its axes in reverse."""
    return transposed(x)


def repeat(x, n):
    """[batch, features] n times: [batch, n, features]."""
    return tiled(gen_ops.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x, rep, axis):
    """Each part along an axis `rep` times."""
    return repeated(x, rep, axis=axis)


def tile(x, n):
    """x n times along each axis; n: a number or a list."""
    x = convert(x)
    return tiled(x, [n] * x.shape.ndims if isinstance(n, int) else n)


def arange(start, stop=None, step=1, dtype="int32"):
    """Numbers from start (0 if there is no stop) up to stop, without it."""
    if stop is None:
        start, stop = 0, start if not isinstance(start, int) or start >= 0 else 0
    return cast(range_of(start, limit=stop, delta=step), dtype)


def one_hot(indices, num_classes):
    """Numbers of classes as vectors with a one."""
    return one_hot_of(indices, depth=num_classes, axis=-1)


def is_sparse(tensor):
    """Whether it is a SparseTensor."""
    return isinstance(tensor, SparseTensor)


def to_dense(tensor):
    """A SparseTensor as a Tensor; a Tensor itself."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


# ---- Normalization ----------------------------------------------------------------------------------


def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
    """gamma * (x - mean) / sqrt(var + epsilon) + beta; `axis` is the one of all these vectors."""
    x = convert(x)
    rank = x.shape.ndims

    def along(vector):
        if vector is None or axis in (-1, rank - 1):
            return vector
        sizes = [1] * rank
        sizes[axis] = -1
        return reshape(vector, sizes)

    return nn_batch_normalization(x, *map(along, (mean, var, beta, gamma)), epsilon)


def normalize_batch_in_training(x, gamma, beta, reduction_axes, epsilon=1e-3):
    """(x normalized over these axes, the means, the variances)."""
    x = convert(x)
    axes = sorted(reduction_axes)
    if x.shape.ndims == 4 and axes == [0, 1, 2] and None not in (gamma, beta):
        return tuple(fused_batch_norm(x, gamma, beta, epsilon=epsilon))
    found = moments(x, axes)
    kept = moments(x, axes, keepdims=True)
    shape = [1 if axis in axes else -1 for axis in range(x.shape.ndims)]
    if shape.count(-1) > 1:
        shape = shape_of(kept[0])
    gamma, beta = (None if each is None else reshape(each, shape) for each in (gamma, beta))
    return nn_batch_normalization(x, *kept, beta, gamma, epsilon), *found

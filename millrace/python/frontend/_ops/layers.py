"""What layers are made of: activations, biases, softmax, dropout, the largest of each row."""

import numbers

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, transpose
from millrace._ops.linear_algebra import matmul
from millrace._ops.random_values import random_uniform
from millrace._values import dtypes
from millrace._values.errors import InvalidArgumentError
from millrace._values.tensor_shape import as_shape

__all__ = [
    "bias_add",
    "crelu",
    "dropout",
    "in_top_k",
    "leaky_relu",
    "log_softmax",
    "relu_layer",
    "softmax",
    "swish",
    "top_k",
    "xw_plus_b",
]


def leaky_relu(features, alpha=0.2, name=None):
    """x where it is positive, else alpha * x. Integers become float32 first."""
    with name_scope(name, "LeakyRelu", [features]) as scope:
        features = convert(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        return gen_ops.leaky_relu(features, alpha=float(alpha), name=scope)


def crelu(features, name=None, axis=-1):
    """relu of x and of -x, one behind the other along an axis."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert(features, name="features")
        return gen_ops.relu(concat([features, -features], axis, name="concat"), name=scope)


def swish(features):
    """x * sigmoid(x)."""
    features = convert(features, name="features")
    return features * gen_ops.sigmoid(features)


def softmax(logits, axis=None, name=None, dim=None):
    """exp(x) / sum(exp(x)) along an axis (the last one if None): probabilities.

    Args:
      logits: a Tensor of a floating type, at least a vector.
      axis: along which they add up to 1.
      name: a name for the node.
      dim: the older name of axis.

    Raises:
      InvalidArgumentError: if there is no such axis.
    """
    return _along(gen_ops.softmax, logits, axis, dim, name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """The logarithm of softmax; arguments as there."""
    return _along(gen_ops.log_softmax, logits, axis, dim, name)


def _along(op, logits, axis, old_axis, name):
    """An op of the last axis, applied along any."""
    axis = one_of("axis", axis, "dim", old_axis)
    logits = convert(logits, name="logits")
    rank = logits.shape.ndims
    if axis is None or axis == -1 or rank is not None and axis == rank - 1:
        return op(logits, name=name)
    if rank is None:
        raise ValueError(f"axis {axis} of logits of unknown rank: only the last axis can be used")
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number "
            "of dimensions in the input.",
        )
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(op(transpose(logits, order)), order, name=name or "transpose")


def one_of(name, value, old_name, old_value):
    """The value of an argument that has an older name. ValueError if both are given."""
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'")
    return old_value if value is None else value


def bias_add(value, bias, data_format=None, name=None):
    """`value` with a bias added to each channel.

    Args:
      value: a Tensor of rank 2 or more.
      bias: a vector, one number per channel.
      data_format: "N...C" for channels in the last axis (so if None), "NC..." for axis 1.
      name: a name for the node.

    Raises:
      ValueError: if the format is neither, or the sizes differ.
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        layout = "NHWC"
        if data_format is not None and data_format.startswith("NC"):
            layout = "NCHW"
        elif data_format is not None and not (
            data_format.startswith("N") and data_format.endswith("C")
        ):
            raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = convert(value, name="input")
        bias = convert(bias, value.dtype.base_dtype, name="bias")
        return gen_ops.bias_add(value, bias, data_format=layout, name=scope)


def xw_plus_b(x, weights, biases, name=None):
    """The matrix product of x and weights, plus biases."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x, weights, biases, name=None):
    """relu of xw_plus_b."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return gen_ops.relu(bias_add(matmul(x, weights), biases), name=scope)


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """`x` with a share of its elements set to 0, and the others scaled so that the mean stays.

    Args:
      x: a Tensor of a floating type.
      keep_prob: 1 - rate, the older argument.
      noise_shape: the shape in which is drawn; axes of size 1 are kept or dropped together.
      seed: a seed for what is drawn.
      name: the name scope.
      rate: the share that is dropped: a number in [0, 1) or a scalar Tensor.

    Raises:
      ValueError: if there is no rate, two, or one out of bounds; if x is not of a floating type.
    """
    try:
        from_keep_prob = None if keep_prob is None else 1.0 - keep_prob
    except TypeError:
        raise ValueError(
            f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})"
        ) from None
    rate = one_of("rate", rate, "keep_prob", from_keep_prob)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    with name_scope(name, "dropout", [x]):
        x = convert(x, name="x")
        dtype = x.dtype.base_dtype
        if not dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. Got a "
                f"{dtype.name} tensor instead."
            )
        if isinstance(rate, numbers.Real):
            if not 0 <= rate < 1:
                raise ValueError(
                    f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
                )
            if rate == 0:
                return x
        rate = convert(rate, dtype, name="rate")
        drawn = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=dtype)
        is_kept = cast(gen_ops.greater_equal(drawn, rate), dtype)
        made = x * (1 / (1 - rate)) * is_kept
        made.set_shape(x.shape)
        return made


def _noise_shape(x, noise_shape):
    """The shape to draw in; sizes that are not given are those of x."""
    if noise_shape is None:
        return gen_ops.shape(x)
    if hasattr(noise_shape, "_as_tensor"):
        return noise_shape
    try:
        wanted = as_shape(noise_shape).as_list()
    except (TypeError, ValueError):
        return noise_shape  # Tensors among the sizes
    if x.shape.ndims != len(wanted):
        return wanted
    return [own if size is None else size for own, size in zip(x.shape.as_list(), wanted)]


def top_k(input, k=1, sorted=True, name=None):
    """The k largest elements of each row, the largest first, and where they are.

    Args:
      input: a Tensor, at least a vector with k elements in its last axis.
      k: a number or an int32 scalar.
      sorted: accepted; they are sorted either way.
      name: a name for the node.

    Returns:
      (values, indices); indices are int32.
    """
    return gen_ops.top_kv2(input, k, sorted=sorted, name=name)


def in_top_k(predictions, targets, k, name=None):
    """Whether each row's target is among the k largest of its predictions: a vector of bools."""
    with name_scope(name, "in_top_k", [predictions, targets]) as scope:
        targets = convert(targets, name="targets")
        k = convert(k, targets.dtype.base_dtype, name="k")
        return gen_ops.in_top_kv2(predictions, targets, k, name=scope)

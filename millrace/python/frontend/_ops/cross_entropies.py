"""Losses: how far predicted probabilities are from labels, from logits, which can't overflow."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import counted_as
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import reshape, stop_gradient, transpose, zeros_like
from millrace._ops.layers import one_of
from millrace._values import dtypes

__all__ = [
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]


def _check_named(function, sentinel, labels, logits):
    """These functions are called with names: labels and logits were once the other way round."""
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def _both(labels, logits):
    logits = convert(logits, name="logits")
    labels = convert(labels, name="labels", hint=logits.dtype.base_dtype)
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(
            f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})"
        )
    return labels, logits


def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The cross entropy of labels in [0, 1] and sigmoid(logits), for each element by itself.

    Args:
      _sentinel: arguments are given by name.
      labels, logits: Tensors of one floating type and shape.
      name: a name for the node.

    Raises:
      ValueError: if one is missing, or shapes differ.
    """
    _check_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        labels, logits = _both(labels, logits)
        # max(x, 0) - x * z + log(1 + exp(-|x|)), with a slope on both sides of 0 that is right at 0.
        zeros = zeros_like(logits)
        is_positive = gen_ops.greater_equal(logits, zeros)
        positive = gen_ops.select(is_positive, logits, zeros)
        falling = gen_ops.select(is_positive, -logits, logits)
        return gen_ops.add(
            positive - logits * labels, gen_ops.log1p(gen_ops.exp(falling)), name=scope
        )


def weighted_cross_entropy_with_logits(
    labels=None, logits=None, pos_weight=None, name=None, targets=None
):
    """sigmoid_cross_entropy_with_logits with what positive labels contribute times pos_weight.

    Args:
      labels, logits: Tensors of one floating type and shape.
      pos_weight: a number or Tensor; above 1 it makes false negatives dearer.
      name: a name for the node.
      targets: the older name of labels.

    Raises:
      ValueError: if shapes differ.
    """
    labels = one_of("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        labels, logits = _both(labels, logits)
        weight = 1 + (pos_weight - 1) * labels
        softened = gen_ops.log1p(gen_ops.exp(-gen_ops.abs(logits))) + gen_ops.relu(-logits)
        return gen_ops.add((1 - labels) * logits, weight * softened, name=scope)


def softmax_cross_entropy_with_logits(
    _sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None
):
    """softmax_cross_entropy_with_logits_v2 with labels as constants: gradients don't go to them."""
    _check_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]):
        labels = stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels, logits, dim if axis is None else axis, name)


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """The cross entropy of labels, which are probabilities, and softmax(logits), along an axis.

    Args:
      labels: a Tensor; along the axis its elements should add up to 1.
      logits: a Tensor of a floating type and of the same shape. float16 is worked out in float32.
      axis: the axis of the classes; the last one if None.
      name: a name for the node.
      dim: the older name of axis.

    Returns:
      a Tensor of the shape of logits without the axis.
    """
    _check_named("softmax_cross_entropy_with_logits", None, labels, logits)
    axis = one_of("axis", axis, "dim", dim)
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert(logits, name="logits")
        dtype = logits.dtype.base_dtype
        logits = _precise(logits)
        labels = cast(convert(labels, name="labels", hint=dtype), logits.dtype.base_dtype)
        is_last = axis in (None, -1)
        # TensorFlow makes matrices of all that it is given, in the graph, also of matrices.
        with counted_as(31 if is_last else 53):
            if not is_last:
                logits, labels = _classes_last(logits, axis), _classes_last(labels, axis)
            loss = _dense_losses(logits, labels, scope)
        return cast(loss, dtype)


def _dense_losses(logits, labels, scope):
    if logits.shape.ndims == 2:
        return _dense_loss(logits, labels, scope)
    outer = gen_ops.shape(logits)[:-1]
    static = logits.shape[:-1] if logits.shape.ndims is not None else None
    loss = reshape(_dense_loss(_as_matrix(logits), _as_matrix(labels), scope), outer)
    if static is not None:
        loss.set_shape(static)
    return loss


def _dense_loss(logits, labels, name):
    return gen_ops.softmax_cross_entropy_with_logits(logits, labels, name=name)[0]


def _precise(logits):
    is_short = logits.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16)
    return cast(logits, dtypes.float32) if is_short else logits


def _classes_last(tensor, axis):
    rank = tensor.shape.ndims
    if rank is None:
        axes = gen_ops.range(0, gen_ops.rank(tensor), 1)
        at = gen_ops.floor_mod(axis, gen_ops.rank(tensor))
        return transpose(
            tensor, gen_ops.concat_v2([axes[:at], axes[at + 1 :], axes[at : at + 1]], 0)
        )
    others = [each for each in range(rank) if each != axis % rank]
    return transpose(tensor, [*others, axis % rank])


def _as_matrix(tensor):
    """All axes but the last as one."""
    classes = tensor.shape[-1:].as_list() if tensor.shape.ndims is not None else [None]
    if classes[0] is None:
        return reshape(tensor, gen_ops.concat_v2([[-1], gen_ops.shape(tensor)[-1:]], 0))
    return reshape(tensor, [-1, classes[0]])


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The cross entropy of labels, which are numbers of classes, and softmax(logits).

    Args:
      _sentinel: arguments are given by name.
      labels: int32 or int64, of the shape of logits without its last axis.
      logits: a Tensor of a floating type; its last axis are the classes.
      name: a name for the node.

    Returns:
      a Tensor of the shape of labels and the type of logits.

    Raises:
      ValueError: if one is missing, or ranks or shapes do not fit.
    """
    function = "sparse_softmax_cross_entropy_with_logits"
    _check_named(function, _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert(labels), convert(logits)
        _check_sparse_shapes(labels.shape, logits.shape)
        dtype, precise = logits.dtype.base_dtype, _precise(logits)
        with counted_as(2 if logits.shape.ndims == 2 else 34):
            loss = _sparse_losses(precise, labels, name)
        return cast(loss, dtype)


def _sparse_losses(logits, labels, name):
    if logits.shape.ndims == 2:
        return gen_ops.sparse_softmax_cross_entropy_with_logits(logits, labels, name=name)[0]
    loss, _ = gen_ops.sparse_softmax_cross_entropy_with_logits(
        _as_matrix(logits), reshape(labels, [-1]), name=name
    )
    loss = reshape(loss, gen_ops.shape(labels))
    loss.set_shape(labels.shape)
    return loss


def _check_sparse_shapes(labels, logits):
    if logits.ndims == 0:
        raise ValueError(f"Logits cannot be scalars - shape {logits}.")
    if logits.ndims is None or labels.ndims is None:
        return
    if labels.ndims != logits.ndims - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {labels.ndims}) should equal rank of logits "
            f"minus 1 (received {logits.ndims})."
        )
    if not labels.is_compatible_with(logits[:-1]):
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {labels}) should equal the shape of "
            f"logits except for the last dimension (received {logits})."
        )

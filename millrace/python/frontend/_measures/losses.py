"""Losses: weighted means of how far predictions are from labels, which join a collection."""

import numbers

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import (
    add_to_collection,
    control_dependencies,
    get_collection,
    name_scope,
)
from millrace._graph.node_counts import counted_as
from millrace._measures.ranks import assert_broadcastable, broadcast_weights
from millrace._ops.arithmetic import add_n, cast
from millrace._ops.arrays import ones_like, zeros_like
from millrace._ops.arrays import size as size_of
from millrace._ops.reductions import reduce_sum
from millrace._state.replica_contexts import note_loss_reduction
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Reduction:
    """How a loss per element becomes one number.

    NONE leaves it; SUM adds the weighted losses up; MEAN divides their sum by that of the weights,
    SUM_OVER_BATCH_SIZE by the number of losses, SUM_BY_NONZERO_WEIGHTS (SUM_OVER_NONZERO_WEIGHTS) by
    the number of weights that are not 0.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls):
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key):
        """Raises ValueError if `key` is none of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls.all()}.")


# ---- The collection ------------------------------------------------------------------------------


def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    """Adds a Tensor to the collection of losses; to none if it is None or empty."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    """The losses of the default graph, those whose name begins with `scope` (a regex) if given."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    """The regularization losses; see get_losses."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    """The sum of the regularization losses, a scalar; 0 if there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """The sum of the losses, and of the regularization losses unless told otherwise.

    Raises:
      ValueError: if there are none.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    if not losses:
        raise ValueError("get_total_loss: there are no losses to add up")
    return add_n(losses, name=name)


# ---- From losses of elements to a loss -----------------------------------------------------------


def _is_number(weights):
    return isinstance(weights, float) and weights != 0.0


def num_present(losses, weights, per_batch=False):
    """How many elements of losses have a weight other than 0; with `per_batch`, of each first index."""
    if _is_number(weights) and not per_batch:
        return cast(size_of(losses), losses.dtype.base_dtype)
    with name_scope("num_present", values=[losses, weights]) as scope:
        weights = cast(weights, dtypes.float32)
        is_present = cast(gen_ops.not_equal(weights, 0.0), dtypes.float32)
        present = broadcast_weights(is_present, losses)
        axes = gen_ops.range(1, gen_ops.rank(present), 1) if per_batch else None
        return reduce_sum(present, axes, keepdims=per_batch, name=scope)


def compute_weighted_loss(
    losses,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Losses times weights, reduced to a number.

    Args:
      losses: a Tensor of shape [batch, ...]; what is not float32 is worked out in float32.
      weights: a scalar, or a Tensor of the rank of losses whose axes have their sizes or 1.
      scope: the name scope.
      loss_collection: the collection that the result joins; None for none.
      reduction: one of Reduction.

    Returns:
      a scalar of the type of losses; of their shape for Reduction.NONE.

    Raises:
      ValueError: if weights do not fit (InvalidArgumentError if that is seen when it runs) or the
        reduction is none.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert(losses)
        if not isinstance(weights, (numbers.Number, np.ndarray)):
            weights = convert(weights)
        with (
            counted_as(_nodes_of_loss(losses, weights, reduction)),
            control_dependencies(_checks(weights, losses)),
        ):
            note_loss_reduction(reduction != Reduction.SUM)
            loss = _reduced(cast(losses, dtypes.float32), weights, reduction)
            loss = cast(loss, losses.dtype.base_dtype)
        add_loss(loss, loss_collection)
        return loss


def _nodes_of_loss(losses, weights, reduction):
    """How many nodes TensorFlow makes, which looks at weights in the graph, also where they are a number."""
    is_value = not hasattr(weights, "op")
    shape = TensorShape(np.shape(weights)) if is_value else weights.shape
    are_known = shape.is_fully_defined() and losses.shape.is_fully_defined()
    check = 5 if shape.ndims == 0 or are_known else 63
    kind = np.asarray(weights).dtype if is_value else weights.dtype.base_dtype.as_numpy_dtype
    is_cast = kind != np.float32 and not (is_value and kind == np.float64)
    number = 2 * is_value + is_cast + check + 1
    if losses.dtype.base_dtype != dtypes.float32:
        number += 2
    if reduction == Reduction.NONE:
        return number
    if reduction == Reduction.SUM:
        return number + 2
    if reduction == Reduction.MEAN:
        return number + 11
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return number + 7
    is_alike = are_known and shape.is_compatible_with(losses.shape)
    return number + (14 if is_alike else 18 + check)


def _checks(weights, losses):
    return [] if isinstance(weights, numbers.Real) else [assert_broadcastable(weights, losses)]


def _reduced(losses, weights, reduction):
    factors = cast(weights, dtypes.float32)
    weighted = losses * factors
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        number = reduce_sum(ones_like(losses) * factors)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        number = cast(size_of(losses), dtypes.float32)
    else:
        number = num_present(losses, weights)
    return gen_ops.div_no_nan(total, number, name="value")


def mean_pairwise_squared_error(
    labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES
):
    """The mean, over samples and pairs of elements in each, of how much the difference of the pair is off.

    Args:
      labels, predictions: Tensors of one shape, [batch, ...].
      weights: a scalar, or a Tensor of the rank of labels whose axes have their sizes or 1.
      scope: the name scope.
      loss_collection: the collection that the result joins; None for none.

    Raises:
      ValueError: if shapes or weights do not fit, or labels or predictions are None.
    """
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        labels, predictions = both_float(labels, predictions)
        with counted_as(61), control_dependencies(_checks(weights, labels)):
            loss = _pairwise(predictions - labels, cast(weights, dtypes.float32))
        add_loss(loss, loss_collection)
        return loss


def _pairwise(differences, weights):
    axes = gen_ops.range(1, gen_ops.rank(differences), 1)
    number = num_present(differences, weights, per_batch=True)
    squares = reduce_sum(gen_ops.square(differences), axes, keepdims=True)
    total = gen_ops.square(reduce_sum(differences, axes, keepdims=True))
    pairs = gen_ops.maximum(number * (number - 1), 0.0)
    own = gen_ops.div_no_nan(squares, gen_ops.maximum(number - 1, 0.0))
    loss = reduce_sum(2.0 * (own - gen_ops.div_no_nan(total, pairs)) * weights)
    any_present = gen_ops.greater(reduce_sum(number), 0.0)
    return gen_ops.select(any_present, loss, zeros_like(loss), name="value")


def check_given(**values):
    """Raises ValueError if one of the named arguments is None."""
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def both_float(labels, predictions):
    """Both as float32. ValueError if their shapes do not go together."""
    predictions = cast(predictions, dtypes.float32)
    labels = cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions

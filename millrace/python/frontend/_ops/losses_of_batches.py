"""Losses of counts, and means of losses over a batch."""

import math

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones_like, shape, where, zeros_like
from millrace._ops.reductions import reduce_sum


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """exp(log_input) - targets * log_input: how improbable counts are by what is expected of them.

    Args:
      targets: the counts, a Tensor of numbers with a point.
      log_input: the logarithms of what is expected, of that type and shape.
      compute_full_loss: True to add what only the targets decide, by Stirling's formula (0 for those that
        are 0 to 1).
      name: the name scope.

    Returns:
      a Tensor of the same type and shape.

    Raises:
      ValueError: if the shapes are known to differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input, targets = convert(log_input, name="log_input"), convert(targets, name="targets")
        if not log_input.shape.is_compatible_with(targets.shape):
            raise ValueError(
                "log_input and targets must have the same shape "
                f"({log_input.shape} vs {targets.shape})"
            )
        loss = gen_ops.exp(log_input) - log_input * targets
        if compute_full_loss:
            is_small = gen_ops.logical_and(
                gen_ops.greater_equal(targets, zeros_like(targets)),
                gen_ops.less_equal(targets, ones_like(targets)),
            )
            rest = targets * gen_ops.log(targets) - targets
            rest += 0.5 * gen_ops.log(2.0 * math.pi * targets)
            loss += where(is_small, zeros_like(targets), rest)
        return loss


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of the losses of examples by how many there are.

    Args:
      per_example_loss: a Tensor, its first axis that of the examples.
      sample_weight: a factor of each; None for 1.
      global_batch_size: how many examples there are; None for the size of the first axis.

    Returns:
      a scalar of the losses' type.
    """
    loss = convert(per_example_loss)
    if sample_weight is not None:
        loss = loss * cast(sample_weight, loss.dtype.base_dtype)
    count = shape(loss)[0] if global_batch_size is None else global_batch_size
    return reduce_sum(loss) / cast(count, loss.dtype.base_dtype)


def scale_regularization_loss(regularization_loss):
    """The sum of a loss: a replica's part of it, of which there is one."""
    return reduce_sum(regularization_loss)

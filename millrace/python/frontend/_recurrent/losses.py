"""Cross entropies of sequences, weighted and averaged."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import reshape
from millrace._ops.cross_entropies import sparse_softmax_cross_entropy_with_logits
from millrace._ops.reductions import count_nonzero, reduce_sum
from millrace._state.named_variables import get_variable_scope, variable_scope

_TINY = 1e-12  # so that weights that are all 0 don't divide by 0


def _entropy(function, labels, logits):
    if function is not None:
        return function(labels=labels, logits=logits)
    return sparse_softmax_cross_entropy_with_logits(labels=reshape(labels, [-1]), logits=logits)


def sequence_loss_by_example(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    softmax_loss_function=None,
    name=None,
):
    """The weighted cross entropy of each member of a batch over lists of points of time.

    Args:
      logits: a list of Tensors of shape [batch, classes].
      targets: a list of integer Tensors of shape [batch].
      weights: a list of floating Tensors of shape [batch].
      average_across_timesteps: True to divide by the sum of the weights of each member.
      softmax_loss_function: a function of `labels` and `logits` in place of the cross entropy.
      name: the name scope.

    Returns:
      a Tensor of shape [batch].

    Raises:
      ValueError: if the lists differ in length.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        weights = [convert(weight) for weight in weights]
        parts = [
            _entropy(softmax_loss_function, target, logit) * weight
            for logit, target, weight in zip(logits, targets, weights)
        ]
        total = gen_ops.add_n(parts)
        if average_across_timesteps:
            total = total / (gen_ops.add_n(weights) + _TINY)
        return total


def sequence_loss_of_lists(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    average_across_batch=True,
    softmax_loss_function=None,
    name=None,
):
    """The sum over the batch of sequence_loss_by_example; see there.

    Args:
      average_across_batch: True to divide it by the size of the batch.

    Returns:
      a scalar Tensor.
    """
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        each = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost = reduce_sum(each)
        if not average_across_batch:
            return cost
        return cost / cast(gen_ops.shape(convert(targets[0]))[0], cost.dtype)


def sequence_loss(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    average_across_batch=True,
    sum_over_timesteps=False,
    sum_over_batch=False,
    softmax_loss_function=None,
    name=None,
):
    """The weighted cross entropy of sequences.

    Args:
      logits: of shape [batch, time, classes].
      targets: integers of shape [batch, time].
      weights: of shape [batch, time]; 0 for what is padding.
      average_across_timesteps, average_across_batch: True to sum along that axis and divide by the
        sum of the weights.
      sum_over_timesteps, sum_over_batch: True to sum along that axis and divide by the number of
        weights that are not 0.
      softmax_loss_function: a function of `labels` and `logits` in place of the cross entropy.
      name: the name scope.

    Returns:
      a Tensor of shape [batch, time] without the axes that are summed.

    Raises:
      ValueError: for other ranks, or if an axis is both averaged and summed.
    """
    logits, targets, weights = convert(logits), convert(targets), convert(weights)
    if logits.shape.ndims not in (None, 3):
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    for what, tensor in (("Targets", targets), ("Weights", weights)):
        if tensor.shape.ndims not in (None, 2):
            raise ValueError(f"{what} must be a [batch_size x sequence_length] tensor")
    for axis, averages, sums in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if averages and sums:
            raise ValueError(
                f"average_across_{axis} and sum_over_{axis} cannot be set to True at same time."
            )
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        shape = gen_ops.shape(logits)
        each = _entropy(
            softmax_loss_function, reshape(targets, [-1]), reshape(logits, [-1, shape[2]])
        )
        each = reshape(each * reshape(weights, [-1]), shape[:2])
        each.set_shape(logits.shape[:2])
        averaged = [average_across_batch, average_across_timesteps]
        summed = [sum_over_batch, sum_over_timesteps]
        axes = [axis for axis in (0, 1) if averaged[axis]]
        if axes:
            return reduce_sum(each, axes) / (reduce_sum(weights, axes) + _TINY)
        axes = [axis for axis in (0, 1) if summed[axis]]
        if axes:
            total = reduce_sum(each, axes)
            return gen_ops.div_no_nan(total, cast(count_nonzero(weights, axes), total.dtype))
        return each


def model_with_buckets(
    encoder_inputs,
    decoder_inputs,
    targets,
    weights,
    buckets,
    seq2seq,
    softmax_loss_function=None,
    per_example_loss=False,
    name=None,
):
    """One model for sequences of several lengths: its outputs and loss for each pair of them.

    Args:
      encoder_inputs, decoder_inputs, targets, weights: lists of Tensors, one for each point of time.
      buckets: pairs of (points of time of the encoder, of the decoder), the longest last.
      seq2seq: a function of (encoder_inputs, decoder_inputs) that gives (outputs, state).
      softmax_loss_function: as for sequence_loss_by_example.
      per_example_loss: True for the loss of each example, not their mean.
      name: the name scope.

    Returns:
      (a list of lists of outputs, a list of losses): for each bucket one.

    Raises:
      ValueError: if a list is shorter than the last bucket.
    """
    for what, given, wanted in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(given) < wanted:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({wanted})."
            )
    outputs, losses = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss_of_lists
    given = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    with name_scope(name, "model_with_buckets", given):
        for number, (read, written) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number else None):
                made, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:written])
                outputs.append(made)
                losses.append(
                    loss(
                        made,
                        targets[:written],
                        weights[:written],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses

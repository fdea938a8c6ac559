"""Connectionist temporal classification: labels that are not aligned with the steps they are heard in."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import boolean_mask
from millrace._ops.reductions import reduce_max, reduce_sum
from millrace._ops.shaped import sequence_mask
from millrace._ops.sparse import sparse_tensor_to_dense
from millrace._values import dtypes

__all__ = [
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "collapse_repeated",
]

_EPSILON = 1e-7  # of tf.keras.backend


def ctc_loss(
    labels,
    inputs=None,
    sequence_length=None,
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=False,
    time_major=True,
    logits=None,
):
    """Minus the logarithm of how probable it is that sequences of logits spell their labels.

    Args:
      labels: an int32 SparseTensor of shape [batch, most labels]. The last class stands for no label.
      inputs: logits, a Tensor of shape [steps, batch, classes].
      sequence_length: an int32 vector: how many steps each sequence has.
      preprocess_collapse_repeated: True to take a label that follows itself for one.
      ctc_merge_repeated: False if a class that lasts for several steps is that many labels.
      ignore_longer_outputs_than_inputs: True for a loss of 0 where there are more labels than steps, which
        is an error otherwise.
      time_major: False for inputs of shape [batch, steps, classes].
      logits: another name of inputs.

    Returns:
      a vector, a loss for each sequence.

    Raises:
      TypeError: if the labels are no SparseTensor.
      ValueError: if there are no inputs.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError(
            f"Expected argument `labels` to be a SparseTensor. Received labels={labels} of type: "
            f"{type(labels).__name__}"
        )
    inputs = inputs if logits is None else logits
    if inputs is None or sequence_length is None:
        raise ValueError("ctc_loss needs inputs (or logits) and sequence_length")
    inputs = convert(inputs, name="logits")
    if not time_major:
        inputs = gen_ops.transpose(inputs, [1, 0, 2])
    kind = inputs.dtype.base_dtype
    is_narrow = kind in (dtypes.float16, dtypes.bfloat16)
    loss, _ = gen_ops.ctc_loss(
        cast(inputs, dtypes.float32) if is_narrow else inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return cast(loss, kind) if is_narrow else loss


def ctc_loss_v2(
    labels,
    logits,
    label_length,
    logit_length,
    logits_time_major=True,
    unique=None,
    blank_index=None,
    name=None,
):
    """ctc_loss whose labels may be dense, and whose class of no label may be any.

    Args:
      labels: an int32 SparseTensor of shape [batch, most labels], or a Tensor of it.
      logits: a Tensor of shape [steps, batch, classes].
      label_length: an int vector: how many labels each sequence has; None for sparse ones.
      logit_length: an int vector: how many steps each sequence has.
      logits_time_major: False for logits of shape [batch, steps, classes].
      unique: accepted; what it would speed up is one op here.
      blank_index: the class that stands for no label, from the end if negative; None for 0, with dense
        labels.
      name: the name scope.

    Returns:
      a vector, a loss for each sequence.

    Raises:
      ValueError: if sparse labels come without a blank_index, or dense ones without lengths.
    """
    with name_scope(name, "ctc_loss", [logits]):
        logits = convert(logits, name="logits")
        if not isinstance(labels, SparseTensor):
            if label_length is None:
                raise ValueError("ctc_loss_v2 needs label_length for dense labels")
            labels = ctc_label_dense_to_sparse(cast(labels, dtypes.int32), label_length)
            blank_index = 0 if blank_index is None else blank_index
        elif blank_index is None:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        count = logits.shape.as_list()[2]
        count = gen_ops.shape(logits)[2] if count is None else count
        blank = count + blank_index if blank_index < 0 else blank_index
        if blank_index != -1 and not (isinstance(blank, int) and blank == count - 1):
            # For the op it is the last class, and those behind move one to the front.
            order = gen_ops.range(0, count - 1, 1)
            order = order + cast(gen_ops.greater_equal(order, blank), dtypes.int32)
            last = gen_ops.reshape(convert(blank, dtypes.int32), [1])
            logits = gen_ops.gather_v2(logits, gen_ops.concat_v2([order, last], 0), 2)
            moved = labels.values - cast(gen_ops.greater(labels.values, blank), dtypes.int32)
            labels = SparseTensor(labels.indices, moved, labels.dense_shape)
        return ctc_loss(
            labels, logits, cast(logit_length, dtypes.int32), time_major=logits_time_major
        )


def collapse_repeated(labels, seq_length, name=None):
    """Labels that follow themselves taken for one.

    Args:
      labels: a Tensor of shape [batch, most labels].
      seq_length: an int vector: how many labels each sequence has.
      name: the name scope.

    Returns:
      (a Tensor of shape [batch, most labels that are left] with 0 behind them, how many are left).
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert(labels, name="labels")
        seq_length = convert(seq_length, name="seq_length")
        begins = gen_ops.not_equal(labels[:, 1:], labels[:, :-1])
        first = gen_ops.ones_like(gen_ops.cast(labels[:, :1], DstT=dtypes.bool))
        inside = sequence_mask(seq_length, gen_ops.shape(labels)[1])
        is_left = gen_ops.logical_and(gen_ops.concat_v2([first, begins], 1), inside)
        counts = reduce_sum(cast(is_left, dtypes.int32), 1)
        places = gen_ops.where(sequence_mask(counts))
        sizes = gen_ops.pack([gen_ops.shape(labels)[0], reduce_max(counts)])
        left = boolean_mask(labels, is_left)
        made = gen_ops.scatter_nd(places, left, cast(sizes, dtypes.int64))
        made.set_shape([labels.shape.as_list()[0], None])
        return made, cast(counts, seq_length.dtype.base_dtype)


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """The classes with the largest logit of each step, without blanks.

    Args:
      inputs: logits, a Tensor of float or double of shape [steps, batch, classes].
      sequence_length: an int32 vector: how many steps each sequence has.
      merge_repeated: True to take a class that lasts for several steps for one label.
      blank_index: which class is no label; negative ones count from the end. The last, if None.

    Returns:
      ([an int64 SparseTensor of shape [batch, most labels]], a Tensor [batch, 1]: minus the sums of the
      logits).
    """
    *decoded, chances = gen_ops.ctc_greedy_decoder(
        inputs,
        sequence_length,
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(*decoded)], chances


def ctc_beam_search_decoder(
    inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True
):
    """The most probable lists of labels, found by following the best ones at each step.

    Args:
      inputs: logits, a Tensor of float or double of shape [steps, batch, classes]. The last class is no
        label.
      sequence_length: an int32 vector: how many steps each sequence has.
      beam_width: how many lists are followed.
      top_paths: how many are given.
      merge_repeated: True to tell a label that follows itself once.

    Returns:
      ([an int64 SparseTensor of shape [batch, most labels] for each path], a Tensor [batch, top_paths]: the
      logarithms of their probabilities).
    """
    indices, values, shapes, chances = gen_ops.ctc_beam_search_decoder(
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)], chances


def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    """`ctc_beam_search_decoder` that tells labels as often as they are found."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


# --- as tf.keras.backend has it ---


def ctc_label_dense_to_sparse(labels, label_lengths):
    """The SparseTensor of a matrix of labels, of which each row has the first `label_lengths`."""
    labels = convert(labels, name="labels")
    width = gen_ops.shape(labels)[1]
    lengths = gen_ops.expand_dims(cast(convert(label_lengths), dtypes.int32), 1)
    places = gen_ops.where(gen_ops.less(gen_ops.range(0, width, 1), lengths))
    return SparseTensor(
        places, gen_ops.gather_nd(labels, places), gen_ops.shape(labels, out_type=dtypes.int64)
    )


def _logits(y_pred):
    return gen_ops.log(gen_ops.transpose(convert(y_pred), [1, 0, 2]) + _EPSILON)


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The loss of each sequence, a column.

    Args:
      y_true: labels, [samples, most labels].
      y_pred: probabilities, [samples, steps, classes].
      input_length, label_length: how many of them each sample has, [samples, 1].
    """
    label_length = gen_ops.squeeze(convert(label_length), squeeze_dims=[-1])
    input_length = cast(gen_ops.squeeze(convert(input_length), squeeze_dims=[-1]), dtypes.int32)
    labels = cast(ctc_label_dense_to_sparse(y_true, label_length), dtypes.int32)
    loss = ctc_loss(inputs=_logits(y_pred), labels=labels, sequence_length=input_length)
    return gen_ops.expand_dims(loss, 1)


def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """The labels of each sequence.

    Args:
      y_pred: probabilities, [samples, steps, classes].
      input_length: how many steps each sample has, [samples].
      greedy: False to search with a beam.
      beam_width, top_paths: as for `tf.nn.ctc_beam_search_decoder`.

    Returns:
      ([a matrix of labels, -1 behind their end, for each path], what the decoder says of probabilities).
    """
    lengths = cast(convert(input_length), dtypes.int32)
    if greedy:
        decoded, chances = ctc_greedy_decoder(_logits(y_pred), lengths)
    else:
        decoded, chances = ctc_beam_search_decoder(_logits(y_pred), lengths, beam_width, top_paths)
    return [sparse_tensor_to_dense(path, default_value=-1) for path in decoded], chances

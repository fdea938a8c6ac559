"""Signals cut into frames that overlap, and put together again."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, expand_dims, gather, pad, reshape, shape, transpose
from millrace._values import dtypes


def _known(scalar):
    value = constant_value(scalar)
    return None if value is None else int(value)


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Frames of a signal, each beginning `frame_step` samples behind the one before.

    Args:
      signal: a Tensor of known rank, at least 1.
      frame_length: how many samples a frame has, an integer scalar.
      frame_step: an integer scalar.
      pad_end: True to have a frame begin wherever one can, filled up behind the signal's end; False to
        leave out what makes no whole frame.
      pad_value: what fills up.
      axis: the axis of the samples.
      name: the name scope.

    Returns:
      a Tensor with two axes in the place of `axis`: frames, and the samples in each.

    Raises:
      ValueError: if a length or step is no scalar, or there is no such axis.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert(signal, name="signal")
        length = convert(frame_length, dtypes.int32, "frame_length")
        step = convert(frame_step, dtypes.int32, "frame_step")
        for each in (length, step):
            each.shape.assert_has_rank(0)
        rank = signal.shape.ndims
        if rank is None or not -rank <= axis < rank:
            raise ValueError(f"frame: axis {axis} of a signal of shape {signal.shape}")
        axis %= rank
        count = shape(signal)[axis]
        if pad_end:
            frames = -gen_ops.floor_div(-count, step)
            missing = gen_ops.maximum(0, length + step * (frames - 1) - count)
            edges = [[0, 0]] * axis + [[0, missing]] + [[0, 0]] * (rank - axis - 1)
            value = convert(pad_value, signal.dtype.base_dtype, "pad_value")
            padded = pad(signal, convert(edges, dtypes.int32), constant_values=value)
        else:
            frames = gen_ops.maximum(0, 1 + gen_ops.floor_div(count - length, step))
            padded = signal
        begins = expand_dims(gen_ops.range(0, frames, 1) * step, 1)
        made = gather(padded, begins + gen_ops.range(0, length, 1), axis=axis)
        sizes = signal.shape.as_list()
        sizes[axis : axis + 1] = [_frames(sizes[axis], length, step, pad_end), _known(length)]
        made.set_shape(sizes)
        return made


def _frames(count, length, step, pad_end):
    """How many frames there are, if that is known."""
    length, step = _known(length), _known(step)
    if None in (count, length, step) or step < 1:
        return None
    return -(-count // step) if pad_end else max(0, 1 + (count - length) // step)


def overlap_and_add(signal, frame_step, name=None):
    """The signal whose frames, where they overlap, add up.

    Args:
      signal: a Tensor of shape [..., frames, frame_length].
      frame_step: how far behind a frame the next one begins, an integer scalar.
      name: the name scope.

    Returns:
      a Tensor of shape [..., (frames - 1) * frame_step + frame_length].

    Raises:
      ValueError: for a signal of fewer than two axes, or a step that is no integer scalar.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = convert(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype!r}")
        step = step if step.dtype == dtypes.int32 else gen_ops.cast(step, DstT=dtypes.int32)
        sizes = shape(signal)
        frames, length = sizes[-2], sizes[-1]
        places = expand_dims(gen_ops.range(0, frames, 1) * step, 1) + gen_ops.range(0, length, 1)
        total = gen_ops.maximum(0, (frames - 1) * step + length)
        rows = reshape(signal, gen_ops.pack([-1, frames * length]))
        # Samples first: those that meet at one place are a segment.
        added = gen_ops.unsorted_segment_sum(transpose(rows), reshape(places, [-1]), total)
        made = reshape(transpose(added), concat([sizes[:-2], expand_dims(total, 0)], 0))
        known = signal.shape.as_list()
        whole = None
        if None not in (*known[-2:], _known(step)):
            whole = max(0, (known[-2] - 1) * _known(step) + known[-1])
        made.set_shape([*known[:-2], whole])
        return made

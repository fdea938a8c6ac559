"""Collective ops: what devices of one group do together, each in a step of its own.

All members of a group name the same `group_key` and `group_size`, and the same `instance_key` for what
belongs together; no two collectives of a group in one step may share an instance_key. A member that
does not come in time, or is lost, ends the op for all others with an error that names it.
"""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._values import dtypes
from millrace._values.tensor_shape import as_shape


def all_reduce(
    t,
    group_size,
    group_key,
    instance_key,
    merge_op="Add",
    final_op="Id",
    subdiv_offsets=(0,),
    communication_hint="auto",
    timeout=0,
):
    """What all members' tensors make together, the same to the bit on each of them.

    Args:
      t: the Tensor of this member; all members' have one type and shape.
      group_size: how many members there are, each on a device of its own.
      group_key: an int that names the group.
      instance_key: an int that names this collective within the group.
      merge_op: "Add", "Mul", "Max" or "Min".
      final_op: "Id", or "Div" to divide by group_size at the end.
      subdiv_offsets: accepted; the op cuts the tensor as it sees fit.
      communication_hint: "ring", "tree", or "auto": by size.
      timeout: seconds after which DeadlineExceededError ends the wait; 0: none.

    Raises:
      ValueError: if group_size is less than 1.
    """
    _check_size("all_reduce", group_size, 1)
    return gen_ops.collective_reduce(
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def all_gather(t, group_size, group_key, instance_key, communication_hint="auto", timeout=0):
    """All members' tensors, one after the other along the first axis, in order of their devices.

    Args:
      as `all_reduce`.

    Raises:
      ValueError: if group_size is less than 1.
    """
    _check_size("all_gather", group_size, 1)
    return gen_ops.collective_gather(
        t,
        shape=[0],
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_send(
    t,
    shape,
    dtype,
    group_size,
    group_key,
    instance_key,
    communication_hint="auto",
    timeout=0,
):
    """Gives `t` to all other members, who have a broadcast_recv; is `t`.

    Args:
      t: a Tensor.
      shape: its shape.
      dtype: its type.
      others: as `all_reduce`.

    Raises:
      ValueError: if there is nobody else, or shape or dtype are not those of `t`.
    """
    _check_size("broadcast_send", group_size, 2)
    t = convert(t)
    if t.dtype.base_dtype != dtypes.as_dtype(dtype).base_dtype:
        raise ValueError(
            "Type of broadcast tensor `t` not equal to delivered type. Received: "
            f"t.dtype={t.dtype.name}, dtype={dtypes.as_dtype(dtype).name}."
        )
    if t.shape.as_list() != as_shape(shape).as_list():
        raise ValueError(
            "Shape of broadcast tensor `t` not equal to delivered shape. Received: "
            f"t.shape={t.shape}, shape={shape}."
        )
    return gen_ops.collective_bcast_send(
        t,
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_recv(
    shape, dtype, group_size, group_key, instance_key, communication_hint="auto", timeout=0
):
    """The Tensor that one member gives with broadcast_send.

    Args:
      shape: its shape, whole.
      dtype: its type.
      others: as `all_reduce`.

    Raises:
      ValueError: if there is nobody else.
    """
    _check_size("broadcast_recv", group_size, 2)
    return gen_ops.collective_bcast_recv(
        shape=shape,
        T=dtype,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def _check_size(name, group_size, least):
    if group_size < least:
        raise ValueError(
            f"Parameter `group_size` to {name} must be at least {least}. Received: {group_size}."
        )

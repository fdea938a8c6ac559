"""All-reduce as a graph of sums over devices of one session: ring, halving and doubling, shuffle.

Each takes a list of Tensors of one type and shape, one per device, and gives such a list: what
`red_op` makes of all of them, on the device of each.
"""

from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, device
from millrace._ops.arrays import concat, identity, reshape, split


def build_ring_all_reduce(input_tensors, num_workers, num_subchunks, gpu_perm, red_op, un_op=None):
    """Sums travel around a ring of the devices: each sends no more than twice its tensor.

    Args:
      input_tensors: Tensors of one type and static shape, each on a device.
      num_workers: how many tasks they are on.
      num_subchunks: into how many parts a device's share is cut, each going around by itself.
      gpu_perm: for each subchunk the order of the devices of a task.
      red_op: a function of two Tensors.
      un_op: a function of one, applied to the result; None for none.

    Raises:
      ValueError: if there are fewer than two Tensors, or num_subchunks is not positive, or gpu_perm
        does not name each device of a task.
    """
    if len(input_tensors) < 2:
        raise ValueError("input_tensors must be length 2 or longer")
    if num_subchunks < 1:
        raise ValueError(f"num_subchunks must be positive, but is {num_subchunks}")
    flat, shape = _flattened(input_tensors)
    count = len(flat)
    rings = _rings(count, num_workers, num_subchunks, gpu_perm)
    chunks = [_cut(tensor, count * num_subchunks) for tensor in flat]
    for which, ring in enumerate(rings):
        _ring_reduce(chunks, flat, ring, which * count, red_op, un_op)
    return _joined(chunks, flat, shape)


def build_recursive_hd_all_reduce(input_tensors, red_op, un_op=None):
    """Pairs exchange halves, then quarters, and so on; then all is put together the same way back.

    Args:
      input_tensors: Tensors, as many as a power of two.
      red_op, un_op: as in build_ring_all_reduce.

    Raises:
      ValueError: if there are not as many as a power of two.
    """
    count = len(input_tensors)
    if count < 1 or count & (count - 1):
        raise ValueError("num_devices must be a power of two")
    flat, shape = _flattened(input_tensors)
    chunks = [_cut(tensor, count) for tensor in flat]
    owned = [range(count)] * count
    distance = count // 2
    while distance:
        before = [list(row) for row in chunks]
        for me in range(count):
            other, half = me ^ distance, len(owned[me]) // 2
            keep = owned[me][:half] if me < other else owned[me][half:]
            with colocate_with(flat[me]):
                for c in keep:
                    low, high = sorted((me, other))
                    chunks[me][c] = red_op(before[low][c], before[high][c])
            owned[me] = keep
        distance //= 2
    for me in range(count):
        if un_op is not None:
            with colocate_with(flat[me]):
                for c in owned[me]:
                    chunks[me][c] = un_op(chunks[me][c])
    distance = 1
    while distance < count:
        before = [list(row) for row in chunks]
        was = list(owned)
        for me in range(count):
            other = me ^ distance
            with colocate_with(flat[me]):
                for c in was[other]:
                    chunks[me][c] = identity(before[other][c])
            owned[me] = sorted([*was[me], *was[other]])
        distance *= 2
    return _joined(chunks, flat, shape)


def build_shuffle_all_reduce(input_tensors, gather_devices, red_op, un_op=None):
    """Each of `gather_devices` makes the sum of its part, and gives it to all.

    Args:
      input_tensors: as in build_ring_all_reduce.
      gather_devices: names of devices.
      red_op: a function of two Tensors, or of a list of them as tf.add_n.
      un_op: as in build_ring_all_reduce.

    Raises:
      ValueError: if there are no gather_devices.
    """
    if not gather_devices:
        raise ValueError("gather_devices must name at least one device")
    flat, shape = _flattened(input_tensors)
    pieces = [_cut(tensor, len(gather_devices)) for tensor in flat]
    shards = []
    for which, name in enumerate(gather_devices):
        with device(name):
            shard = _reduced([row[which] for row in pieces], red_op)
            shards.append(shard if un_op is None else un_op(shard))
    return _joined([[shard for shard in shards] for _ in flat], flat, shape)


def build_nccl_all_reduce(input_tensors, red_op, un_op=None):
    """The sum on the device of the first Tensor, copied to all others: there is no NCCL here.

    Args:
      as in build_recursive_hd_all_reduce.
    """
    tensors = [convert(tensor) for tensor in input_tensors]
    with colocate_with(tensors[0]):
        total = _reduced(tensors, red_op)
        total = total if un_op is None else un_op(total)
    given = []
    for tensor in tensors:
        with colocate_with(tensor):
            given.append(identity(total))
    return given


def build_nccl_then_ring(input_tensors, subdiv, red_op, un_op=None):
    """Sums within each task, then a ring over tasks."""
    return _by_task(
        input_tensors,
        red_op,
        lambda sums: build_ring_all_reduce(sums, len(sums), subdiv, [0], red_op, un_op),
        un_op,
    )


def build_nccl_then_recursive_hd(input_tensors, red_op, un_op=None):
    """Sums within each task, then halving and doubling over tasks."""
    return _by_task(
        input_tensors,
        red_op,
        lambda sums: build_recursive_hd_all_reduce(sums, red_op, un_op),
        un_op,
    )


def build_nccl_then_shuffle(input_tensors, gather_devices, nccl_red_op, shuffle_red_op, un_op=None):
    """Sums within each task, then a shuffle over `gather_devices`."""
    return _by_task(
        input_tensors,
        nccl_red_op,
        lambda sums: build_shuffle_all_reduce(sums, gather_devices, shuffle_red_op, un_op),
        un_op,
    )


def build_shuffle_then_ring(input_tensors, gather_devices, subdiv, red_n_op, red_op, un_op=None):
    """Sums within each task on its `gather_devices`, then a ring over tasks."""
    del gather_devices  # the sums of a task are made where its first Tensor is
    return _by_task(
        input_tensors,
        red_n_op,
        lambda sums: build_ring_all_reduce(sums, len(sums), subdiv, [0], red_op, un_op),
        un_op,
    )


def build_shuffle_then_shuffle(
    input_tensors, first_gather_devices, second_gather_devices, red_op, un_op=None
):
    """Sums within each task, then a shuffle over `second_gather_devices`."""
    del first_gather_devices  # as in build_shuffle_then_ring
    return _by_task(
        input_tensors,
        red_op,
        lambda sums: build_shuffle_all_reduce(sums, second_gather_devices, red_op, un_op),
        un_op,
    )


def _flattened(tensors):
    """(the tensors as vectors on their devices, their shape); ValueError unless it is one and known."""
    tensors = [convert(tensor) for tensor in tensors]
    if not tensors:
        raise ValueError("input_tensors cannot be empty")
    shape = tensors[0].shape
    for tensor in tensors:
        if not tensor.shape.is_fully_defined() or tensor.shape.as_list() != shape.as_list():
            raise ValueError(
                f"tensors must all have one known shape, but {tensor.name} has {tensor.shape} and "
                f"{tensors[0].name} has {shape}"
            )
    flat = []
    for tensor in tensors:
        with colocate_with(tensor):
            flat.append(reshape(tensor, [-1]))
    return flat, shape


def _cut(vector, count):
    """`count` vectors, of lengths that differ by one at most."""
    length = vector.shape.as_list()[0]
    sizes = [length // count + (which < length % count) for which in range(count)]
    with colocate_with(vector):
        return list(split(vector, sizes, 0))


def _joined(chunks, flat, shape):
    given = []
    for row, own in zip(chunks, flat):
        with colocate_with(own):
            given.append(reshape(concat(row, 0), shape.as_list()))
    return given


def _rings(count, num_workers, num_subchunks, gpu_perm):
    """For each subchunk the devices in the order of its ring."""
    if num_workers < 1 or count % num_workers:
        raise ValueError(f"{count} tensors cannot be spread evenly over {num_workers} workers")
    per_task = count // num_workers
    if sorted(gpu_perm) != list(range(per_task)):
        raise ValueError(f"gpu_perm must name each of {per_task} devices once, but is {gpu_perm}")
    rings = []
    for which in range(num_subchunks):
        turn = (which * per_task) // max(num_subchunks, 1)
        order = [*gpu_perm[turn:], *gpu_perm[:turn]]
        rings.append([task * per_task + d for task in range(num_workers) for d in order])
    return rings


def _ring_reduce(chunks, flat, ring, first, red_op, un_op):
    count = len(ring)
    for step in range(1, count):
        before = {me: list(chunks[me]) for me in ring}
        for place, me in enumerate(ring):
            left, c = ring[place - 1], first + (place - step - 1) % count
            with colocate_with(flat[me]):
                chunks[me][c] = red_op(before[left][c], before[me][c])
    for place, me in enumerate(ring):
        if un_op is not None:
            with colocate_with(flat[me]):
                chunks[me][first + place] = un_op(chunks[me][first + place])
    for step in range(count - 1):
        before = {me: list(chunks[me]) for me in ring}
        for place, me in enumerate(ring):
            left, c = ring[place - 1], first + (place - step - 1) % count
            with colocate_with(flat[me]):
                chunks[me][c] = identity(before[left][c])


def _reduced(tensors, red_op):
    """The reduction of a list, by a function of two or of a list."""
    try:
        return red_op(tensors)
    except TypeError:
        total = tensors[0]
        for tensor in tensors[1:]:
            total = red_op(total, tensor)
        return total


def _by_task(tensors, red_op, over_tasks, un_op):
    """The sum of each task's tensors, those of all tasks, and back to each device."""
    tensors = [convert(tensor) for tensor in tensors]
    tasks = {}
    for which, tensor in enumerate(tensors):
        tasks.setdefault(tensor.device.partition("/device:")[0], []).append(which)
    sums = []
    for members in tasks.values():
        with colocate_with(tensors[members[0]]):
            sums.append(_reduced([tensors[which] for which in members], red_op))
    if len(sums) > 1:
        sums = over_tasks(sums)
    elif un_op is not None:
        with colocate_with(sums[0]):
            sums = [un_op(sums[0])]
    given = [None] * len(tensors)
    for total, members in zip(sums, tasks.values()):
        for which in members:
            with colocate_with(tensors[which]):
                given[which] = identity(total)
    return given

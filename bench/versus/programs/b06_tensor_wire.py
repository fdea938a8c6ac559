"""B6: a tensor from one task to another, as part of a step; one or four under way.

The receiver uses one number of each, which is fetched: a tensor that nobody uses is not sent at all.
"""

from measure import Figure, Limit, gigabytes_per_second, microseconds
from native import Native

TITLE = "B6 tensor wire"
KIB, MIB = 1 << 10, 1 << 20


def tasks(scale):
    return 2


def sizes(scale):
    common = [4, KIB, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB]
    return scale.pick(
        quick=[4, MIB],
        normal=common,
        full=[*common[:4], 256 * KIB, *common[4:], 256 * MIB, KIB * MIB],
    )


def in_flight(size):
    return (1, 4) if MIB <= size <= 16 * MIB else (1,)


def name_of(size, count):
    text = (
        f"{size >> 20} MiB" if size >= MIB else f"{size >> 10} KiB" if size >= KIB else f"{size} B"
    )
    return text + (f", {count} at once" if count > 1 else "")


def unit_of(size):
    return "us" if size < 64 * KIB else "GB/s"


def timed(size, count, call):
    return microseconds(call) if unit_of(size) == "us" else gigabytes_per_second(size * count, call)


def figures(tf, cluster, scale):
    session = tf.Session(cluster.target("worker:0"))
    for size in sizes(scale):
        arrived, initial = [], []
        for index in range(max(in_flight(size))):
            with tf.device("/job:worker/task:1"):
                held = tf.Variable(tf.zeros([size // 4]), name=f"held_{size}_{index}")
                read = tf.identity(held)
            with tf.device("/job:worker/task:0"):
                arrived.append(tf.slice(read, [0], [1]))
            initial.append(held.initializer)
        session.run(tf.group(*initial))
        for count in in_flight(size):
            with tf.device("/job:worker/task:0"):
                step = tf.add_n(arrived[:count])
            call = session.make_callable(step)
            yield Figure(name_of(size, count), unit_of(size), timed(size, count, call))


def limits(scale):
    for size in sizes(scale):
        for count in in_flight(size):
            calls = Native("calls", "--reply", size, "--at-once", count)
            yield Limit(name_of(size, count), "raw gRPC", timed(size, count, calls))
        if size >= MIB:
            tcp = Native("tcp", "--reply", size)
            yield Limit(name_of(size, 1), "TCP", timed(size, 1, tcp))

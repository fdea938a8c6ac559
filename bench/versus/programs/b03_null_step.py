"""B3: a step that adds one scalar from each of N tasks: what a task more costs."""

from measure import Figure, Limit, microseconds
from native import Native

TITLE = "B3 null step over N tasks"


def tasks(scale):
    return scale.pick(quick=2, normal=16)


def counts(scale):
    return [n for n in (1, 2, 4, 8, 16) if n <= tasks(scale)]


def name_of(count):
    return f"N = {count}"


def figures(tf, cluster, scale):
    read, initial = [], []
    for task in range(max(counts(scale))):
        with tf.device(f"/job:worker/task:{task}"):
            held = tf.Variable(1.0, name=f"held_{task}")
            read.append(tf.identity(held))
            initial.append(held.initializer)
    sums = []
    with tf.device("/job:worker/task:0"):
        for count in counts(scale):
            sums.append(tf.add_n(read[:count]))
    session = tf.Session(cluster.target("worker:0"))
    session.run(tf.group(*initial))
    for count, total in zip(counts(scale), sums):
        if session.run(total) != count:
            raise ValueError(f"the sum over {count} tasks is {session.run(total)}")
        yield Figure(name_of(count), "us", microseconds(session.make_callable(total)))


def limits(scale):
    # To each task what starts its part, then what pulls its value; all tasks at once, twice.
    for count in counts(scale):
        calls = Native("calls", "--request", 96, "--tasks", count, "--in-turn", 2)
        yield Limit(name_of(count), "raw gRPC, 2 calls per task", microseconds(calls))

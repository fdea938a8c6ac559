"""B17: what a large graph costs: to build, to send and run for the first time, to extend, to keep."""

import time

from measure import Figure, Limit, microseconds, milliseconds, once
from native import Native

TITLE = "B17 graph building"
WIDTH = 100
# Above so many nodes the passes that rewrite graphs are off: TensorFlow's would take minutes.
REWRITTEN = 10_000


def tasks(scale):
    return 2


def sizes(scale):
    return scale.pick(
        quick=[10, 1000], normal=[10, 1000, 10_000, 100_000], full=[10, 1000, 100_000, 1_000_000]
    )


def layers(tf, count):
    """Additions in layers of a hundred, on two tasks in turn; an edge in a hundred crosses."""
    with tf.device("/job:worker/task:0"):
        nodes = [tf.placeholder(tf.float32, []) for _ in range(min(WIDTH, count // 2))]
        first = list(nodes)
    width = len(first)
    while len(nodes) < count:
        before = nodes[-width:]
        other = f"/job:worker/task:{len(nodes) // width % 2}"
        with tf.device(other):
            nodes.append(tf.raw_ops.AddV2(x=before[0], y=before[0]))
        with tf.device("/job:worker/task:0"):
            for i in range(1, min(width, count - len(nodes) + 1)):
                nodes.append(tf.raw_ops.AddV2(x=before[i], y=nodes[-1]))
    return first, nodes[-width:]


def config(tf, count):
    made = tf.ConfigProto()
    if count > REWRITTEN:
        made.graph_options.optimizer_options.opt_level = -1
        made.graph_options.rewrite_options.disable_meta_optimizer = True
    return made


def text_of(count):
    return f"{count:,} nodes{', no rewriting' if count > REWRITTEN else ''}: "


def resident(pid):
    """Bytes of memory that the process has for itself."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Private")) * 1024


def figures(tf, cluster, scale):
    with tf.Graph().as_default():
        layers(tf, 10)  # loads what is loaded at the first use
    for count in sizes(scale):
        with tf.Graph().as_default():
            yield from figures_of_size(tf, cluster, count)


def figures_of_size(tf, cluster, count):
    text, options = text_of(count), config(tf, count)
    graph, target = tf.get_default_graph(), cluster.target("worker:0")
    start = time.perf_counter()
    first, last = layers(tf, count)
    built = (time.perf_counter() - start) / count * 1e6
    with tf.device("/job:worker/task:0"):
        whole = tf.add_n(last)
        small = tf.raw_ops.AddV2(x=tf.constant(1.0), y=tf.constant(2.0)).op
    fed = {node: 1.0 for node in first}
    yield Figure(text + "building in Python, per node", "us", once(built))

    before = resident(cluster.pids["worker:0"])
    session = tf.Session(target, config=options)
    session.run(whole, fed)
    grown = (resident(cluster.pids["worker:0"]) - before) / count
    if count >= 100_000:
        yield Figure(text + "memory of the master, per node", "B", once(grown))

    def run_first():
        with tf.Session(target, graph=graph, config=options) as another:
            another.run(whole, fed)

    def run_again():
        session.run(whole, fed)

    def extend_and_run():
        with graph.as_default(), tf.device("/job:worker/task:0"):
            node = tf.raw_ops.NoOp()
        session.run(node)

    yield Figure(text + "create, run all of it, close", "ms", milliseconds(run_first))
    yield Figure(text + "run all of it again", "ms", milliseconds(run_again))
    yield Figure(text + "add a node and run it", "ms", milliseconds(extend_and_run))
    three = microseconds(session.make_callable(small))
    yield Figure(text + "run three nodes of it again", "us", three)


def limits(scale):
    for count in sizes(scale)[1:]:  # of the smallest, the layers are too narrow
        parse = Native("parse", "--count", count)
        yield Limit(
            text_of(count) + "create, run all of it, close",
            "protobuf parse of it",
            milliseconds(parse),
        )

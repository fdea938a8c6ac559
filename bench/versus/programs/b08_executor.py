"""B8: nodes per second of the executor, in one process: chains, random graphs, identities.

Passes that rewrite the graph are off, or there would be nothing left to run.
"""

import random

from measure import Figure, Limit, thousands_per_second
from native import Native

TITLE = "B8 executor"


def tasks(scale):
    return 0


def sizes(scale):
    return scale.pick(
        quick=[10, 1000], normal=[10, 1000, 100_000], full=[10, 1000, 100_000, 1_000_000]
    )


def chain(tf, count):
    last = None
    for _ in range(count):
        last = tf.raw_ops.NoOp() if last is None else after(tf, [last])
    return last


def after(tf, operations):
    with tf.control_dependencies(operations):
        return tf.raw_ops.NoOp()


def random_graph(tf, count):
    """Each node waits for two of the hundred before it, as `raw_limits walk random` has it."""
    pick = random.Random(1)
    nodes = []
    for i in range(count):
        near = pick.sample(nodes[-100:], min(2, len(nodes)))
        nodes.append(after(tf, near))
    return tf.group(*nodes[-100:])


def identities(tf, count):
    value = tf.constant(1.0)
    for _ in range(count):
        value = tf.raw_ops.Identity(input=value)
    return value.op


SHAPES = {"chain": chain, "random": random_graph, "identities": identities}


def name_of(shape, count):
    what = {
        "chain": "chain of {} no-ops",
        "random": "random graph of {} no-ops",
        "identities": "chain of {} identities",
    }
    return what[shape].format(f"{count:,}")


def config(tf, executor=""):
    made = tf.ConfigProto()
    made.graph_options.optimizer_options.opt_level = -1
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    if executor:
        made.experimental.executor_type = executor
    return made


def figures(tf, cluster, scale):
    for shape, build in SHAPES.items():
        for count in sizes(scale):
            if shape != "chain" and count not in (1000, 100_000):
                continue
            with tf.Graph().as_default():
                last = build(tf, count)
                session = tf.Session(config=config(tf))
                step = session.make_callable(last)
                step()
                name = name_of(shape, count)
                yield Figure(name, "k/s", thousands_per_second(count, step))
                if shape == "chain" and count == 1000:
                    alone = tf.Session(config=config(tf, "SINGLE_THREADED_EXECUTOR"))
                    step = alone.make_callable(last)
                    yield Figure(
                        name + ", single-threaded executor",
                        "k/s",
                        thousands_per_second(count, step),
                    )


def limits(scale):
    for shape in ("chain", "random"):
        for count in sizes(scale):
            if shape != "chain" and count not in (1000, 100_000):
                continue
            walk = Native("walk", "--shape", shape, "--count", count)
            yield Limit(name_of(shape, count), "bare walk", thousands_per_second(count, walk))

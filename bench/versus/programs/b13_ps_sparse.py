"""B13: rows of a table that lies on one task, read by a worker, and changes of them put back."""

import numpy as np

from measure import Figure, milliseconds

TITLE = "B13 parameter server, sparse"
WIDTH = 64  # floats of a row
MB = 1_000_000


def tasks(scale):
    return 2  # worker:0 has the tables


def tables(scale):
    return scale.pick(quick=[1], normal=[64, 1000], full=[64, 1000, 8000])


def figures(tf, cluster, scale):
    session = tf.Session(cluster.target("worker:0"))
    chance = np.random.RandomState(0)
    for megabytes in tables(scale):
        rows = megabytes * MB // WIDTH // 4
        with tf.device("/job:worker/task:0"):
            table = tf.Variable(tf.zeros([rows, WIDTH]), name=f"table_{megabytes}")
        session.run(table.initializer)
        for count in (32, 1024):
            with tf.device("/job:worker/task:1"):
                wanted = tf.placeholder(tf.int32, [count])
            with tf.device("/job:worker/task:0"):
                pulled = tf.nn.embedding_lookup(table, wanted)
            with tf.device("/job:worker/task:1"):
                change = pulled * 0.001 + 1.0
            with tf.device("/job:worker/task:0"):
                pushed = tf.scatter_sub(table, wanted, change).op
            step = session.make_callable(pushed, feed_list=[wanted])
            some = chance.choice(rows, count, replace=False).astype(np.int32)
            name = f"{count:,} rows of {megabytes:,} MB"
            yield Figure(name, "ms", milliseconds(lambda step=step, some=some: step(some)))


def limits(scale):
    return []

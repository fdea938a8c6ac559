"""Graphs that grow, from Python: a node more in a large graph and a run of it, a thousand times.

The baseline is the same with a graph that is small.
"""

import time

from figures import report

import millrace as tf

EXTENSIONS, WIDTH, SMALL = 1000, 100, 1000


def grow(nodes):
    """Seconds for all extensions of a graph of so many nodes, each with a run of the new node."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = [tf.constant(1.0) for _ in range(WIDTH)]
        while len(made) < nodes:
            made.append(tf.add(made[-WIDTH], made[-1]))
        session.run(made[0])
        start = time.perf_counter()
        for i in range(EXTENSIONS):
            session.run(-made[i % WIDTH])
        return time.perf_counter() - start


def main():
    grow(SMALL)
    for nodes in (10_000, 100_000):
        report(
            f"1,000 times a node more in a graph of {nodes} and run it, Python",
            "s",
            [grow(nodes)],
            goal=3 if nodes == 100_000 else None,
            baseline_name=f"in a graph of {SMALL}",
            baseline=[grow(SMALL)],
        )


if __name__ == "__main__":
    main()

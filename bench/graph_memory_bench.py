"""What a node of a large graph costs in memory when a program holds all of its tensors."""

import gc
import re

from figures import report

import millrace as tf

NODES, WIDTH = 200_000, 100


def resident():
    """Bytes of memory that the process has."""
    with open("/proc/self/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024


def constants(count):
    return [tf.constant(1.0) for _ in range(count)]


def additions(count):
    """Layers of additions, a hundred wide."""
    made = constants(WIDTH)
    while len(made) < count:
        made.append(tf.add(made[-WIDTH], made[-1]))
    return made


def main():
    held = []  # for ever: a graph must not be made in the memory of the one before

    def bytes_per_node(nodes, count):
        gc.collect()
        before = resident()
        with tf.Graph().as_default():
            held.append(nodes(count))
        gc.collect()
        return (resident() - before) / count

    for nodes in (additions, constants):
        bytes_per_node(nodes, WIDTH)  # what is made once
        report(
            f"a node of {NODES} {nodes.__name__}, all tensors held, Python",
            "B",
            [bytes_per_node(nodes, NODES)],
        )


if __name__ == "__main__":
    main()

"""What a node of a large graph costs in memory when a program holds all of its tensors."""

import gc
import os
import re
import sys

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


def bytes_per_node(nodes, count):
    gc.collect()
    before = resident()
    with tf.Graph().as_default():
        held = nodes(count)
    gc.collect()
    return (resident() - before) / len(held), held


def measure(nodes):
    small = bytes_per_node(nodes, WIDTH)  # what is made once
    large = bytes_per_node(nodes, NODES)
    report(f"a node of {NODES} {nodes.__name__}, all tensors held, Python", "B", [large[0]])
    del small, large


def main():
    """Each in a process of its own, so that no graph is made in memory that another left."""
    for nodes in (additions, constants):
        child = os.fork()
        if child == 0:
            measure(nodes)
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(2)


if __name__ == "__main__":
    main()

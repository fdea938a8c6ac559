"""How many nodes TensorFlow 1.15 would have made by now: what the seed of a random op hinges on.

A random op without a seed of its own takes as one, beside the graph's seed, the number of nodes that the
graph has. A program that calls tf.set_random_seed draws the numbers that it knows only if this number is
TensorFlow's. Where a function of this package makes fewer nodes than TensorFlow's, or more, it says so
here; the graph itself stays as small as it is.
"""

import contextlib

from millrace._graph.graph import get_default_graph


def counted_nodes(graph):
    """The number of nodes that TensorFlow would have made for what was called so far."""
    return graph.version + graph.more_nodes


def count_more(number):
    """Counts nodes that TensorFlow makes at this place and we don't; fewer than 0 if it is the other way."""
    get_default_graph().more_nodes += number


@contextlib.contextmanager
def counted_as(number):
    """What is made inside counts as `number` nodes. A random op inside counts on from what there is."""
    graph = get_default_graph()
    before = counted_nodes(graph)
    try:
        yield
    finally:
        graph.more_nodes = before + number - graph.version

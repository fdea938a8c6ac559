"""How many nodes TensorFlow 1.15 would have made by now: what the seed of a random op hinges on.

A random op without a seed of its own takes as one, beside the graph's seed, the number of nodes that the
graph has. A program that calls tf.set_random_seed draws the numbers that it knows only if this number is
TensorFlow's. Where a function of this package makes fewer nodes than TensorFlow's, or more, it says so
here; the graph itself stays as small as it is.
"""

import contextlib

import numpy as np

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


def nodes_of_rate(rate, input, data_format, padding):
    """How many nodes more TensorFlow makes where a rate is given: it spreads batches for it."""
    if all(each == 1 for each in np.atleast_1d(rate)):
        return 1
    sizes = input.shape.as_list() if input.shape.ndims is not None else [None]
    spatial = sizes[2:] if data_format.startswith("NC") else sizes[1:-1]
    is_same = padding == "SAME"
    return (74 if None in spatial else 11) + is_same

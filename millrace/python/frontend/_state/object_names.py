"""Names of objects that have no node, such as Keras's layers: numbered in each graph."""

from millrace._graph.graph import get_default_graph


class _Names:
    """How many objects of a graph have a name, before its number."""

    def __init__(self):
        self.counts = {}


def unique_name(base, first=0):
    """ "dense", "dense_1", ...: the first has a number if `first` is 1."""
    counts = get_default_graph().own(_Names).counts
    number = counts.get(base, first)
    counts[base] = number + 1
    return f"{base}_{number}" if number else base


def object_names_of(graph):
    """The names that objects of a graph have, for put_object_names."""
    return dict(graph.own(_Names).counts)


def put_object_names(graph, names):
    """Has a graph's next objects be named as after object_names_of."""
    graph.own(_Names).counts = dict(names)

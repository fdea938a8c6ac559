"""What programs do with the default graph: its scopes and collections as functions."""

import contextlib

from millrace._graph.graph import Graph, get_default_graph


def device(device_name_or_function):
    """The default graph's `device` scope."""
    return get_default_graph().device(device_name_or_function)


def container(container_name):
    """The default graph's `container` scope."""
    return get_default_graph().container(container_name)


def control_dependencies(control_inputs):
    """The default graph's `control_dependencies` scope; a callable is called first."""
    if callable(control_inputs):
        control_inputs = control_inputs()
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op, ignore_existing=False):
    """The default graph's `colocate_with` scope."""
    return get_default_graph().colocate_with(op, ignore_existing)


@contextlib.contextmanager
def name_scope(name, default_name=None, values=None):
    """A name scope of the graph that `values` are in, or of the default graph.

    Args:
      name: the scope's name; None takes `default_name`.
      default_name: used if `name` is None.
      values: Tensors that the scope's nodes are made from.

    Yields:
      the full name of the scope with a slash at its end, to be used as the name of an op.
    """
    if name is None and default_name is None and values is not None:
        raise ValueError("At least one of name and default_name is required.")
    graph = graph_of(values or ())
    with graph.as_default(), graph.name_scope(name if name is not None else default_name) as scope:
        yield scope


def graph_of(values):
    """The graph of the first Tensor, Operation or Variable among `values`, or that of a function which
    reads it; else the default graph."""
    current = get_default_graph()
    for value in values:
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            return current if current.takes_from(graph) else graph
    return current


@contextlib.contextmanager
def init_scope():
    """Leaves control flow and control dependencies: what is made inside runs by itself."""
    graph = get_default_graph()
    scope = graph.get_name_scope()
    with graph.control_dependencies(None), graph.name_scope(scope + "/" if scope else None):
        yield


def add_to_collection(name, value):
    """Adds to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope=None):
    """A copy of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)

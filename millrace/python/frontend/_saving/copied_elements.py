"""Operations and Variables of one graph copied into another, by name (tf.contrib.copy_graph)."""

from millrace._flow.graph_copies import op_like
from millrace._graph.collections import GraphKeys
from millrace._graph.operation import Operation, Tensor
from millrace._run.session import Session
from millrace._state.variables import ResourceVariable, Variable

_OF_ALL_SCOPES = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)


def copy_variable_to_graph(org_instance, to_graph, scope=""):
    """Makes a Variable in another graph that begins with what this one begins with, as a constant.

    Args:
      org_instance: a Variable; its initial value must not need values of others. What is random is drawn once, now.
      to_graph: the Graph for the copy.
      scope: what its name begins with, before a slash, and those of the collections that it joins; GLOBAL_VARIABLES
        and TRAINABLE_VARIABLES are as they are.

    Returns:
      the new Variable, a resource variable if the other is one. Its static shape is unknown.

    Raises:
      TypeError: if org_instance is no Variable.
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    joined = _collections_of(org_instance)
    with org_instance.graph.as_default(), Session() as session:
        value = session.run(org_instance.initial_value)
    with to_graph.as_default():
        return Variable(
            value,
            trainable=GraphKeys.TRAINABLE_VARIABLES in joined,
            name=_scoped(scope, org_instance.op.name),
            collections=[
                name if name in _OF_ALL_SCOPES else _scoped(scope, name) for name in joined
            ],
            validate_shape=False,
            use_resource=isinstance(org_instance, ResourceVariable),
        )


def copy_op_to_graph(org_instance, to_graph, variables, scope=""):
    """Copies an Operation or a Tensor into another graph, and what it needs; what is there by name stays as it is.

    Args:
      org_instance: an Operation or a Tensor; a placeholder becomes one.
      to_graph: the Graph for the copies. Its device scopes fill in what nodes leave open.
      variables: the Variables that copy_variable_to_graph has made there, in the same scope.
      scope: what the names of copies begin with, before a slash, and those of collections that Tensors join.

    Returns:
      the copy: an Operation or a Tensor.

    Raises:
      TypeError: if org_instance is neither; NotImplementedError: if it needs what is inside a while_loop.
    """
    copies = _Copies(to_graph, {variable.name for variable in variables}, scope)
    found = copies.find(org_instance)
    if found is not None:
        return found
    if not isinstance(org_instance, (Operation, Tensor)):
        raise TypeError(f"Could not copy instance: {org_instance}")
    copies.make(org_instance)
    return copies.find(org_instance)


def get_copied_op(org_instance, graph, scope=""):
    """The copy of an Operation, a Tensor or a Variable in a graph: what has its name there.

    Args:
      org_instance: the original.
      graph: where its copy is.
      scope: what the names of copies begin with, before a slash.

    Returns:
      an Operation; a Tensor for a Tensor or a Variable.

    Raises:
      KeyError: if there is none.
    """
    return graph.as_graph_element(_scoped(scope, org_instance.name))


def _scoped(scope, name):
    return f"{scope}/{name}" if scope else name


def _collections_of(item):
    """The names of the collections that an item is in."""
    graph = item.graph
    return [
        name
        for name in graph.get_all_collection_keys()
        if isinstance(name, str) and any(held is item for held in graph.get_collection(name))
    ]


class _Copies:
    """What is copied into a graph under a scope; `variables` are names of those that were copied before."""

    def __init__(self, graph, variables, scope):
        self._graph, self._variables, self._scope = graph, variables, scope

    def find(self, item):
        """The copy of what has a name, or None."""
        name = _scoped(self._scope, getattr(item, "name", ""))
        if name in self._variables:
            return self._graph.get_tensor_by_name(name)
        try:
            return self._graph.as_graph_element(name)
        except (KeyError, ValueError):
            return None

    def make(self, item):
        """Copies an Operation or a Tensor that is not there yet: first all that it needs."""
        path, opened = [item], set()
        while path:
            current = path[-1]
            if current not in opened and self.find(current) is None:
                opened.add(current)
                path += reversed(self._needed(current))
                continue
            path.pop()
            if current in opened:
                opened.remove(current)
                self._copy(current)

    def _needed(self, item):
        if isinstance(item, Tensor):
            return [item.op]
        if item.is_in_loop:
            raise NotImplementedError(
                f"Operation '{item.name}' is inside a while_loop, of which a copy would be no part; build the loop "
                "again in the other graph"
            )
        return [*item.control_inputs, *item.inputs]

    def _copy(self, item):
        graph = self._graph
        if isinstance(item, Tensor):
            # Its Operation is there now, and so is it: what is left is where the program looks for it.
            names = [_scoped(self._scope, name) for name in _collections_of(item)]
            graph.add_to_collections(names, self.find(item))
            return
        inputs = [self.find(tensor) for tensor in item.inputs]
        with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
            made = op_like(item, graph, inputs, _scoped(self._scope, item.name))
        for before in item.control_inputs:
            graph.add_control_input(made, self.find(before))

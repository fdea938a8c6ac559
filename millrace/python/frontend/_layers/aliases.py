"""Names by which layers' outputs are known in collections: those of the layers, not of their nodes."""

from millrace._graph.default_graph import add_to_collections, get_collection, get_collection_ref
from millrace._graph.graph import get_default_graph


class _Aliases:
    """Lists of names by Tensor, of one graph."""

    def __init__(self):
        self.by_tensor = {}


def add_alias(tensor, alias):
    """Gives a Tensor one more name, without a "/" at its end; gives the Tensor."""
    names = get_default_graph().own(_Aliases).by_tensor.setdefault(tensor, [])
    names.append(alias[:-1] if alias.endswith("/") else alias)
    return tensor


append_tensor_alias = add_alias


def get_tensor_aliases(tensor):
    """A Tensor's names; that of its node if it has none."""
    names = get_default_graph().own(_Aliases).by_tensor.get(tensor)
    if names is not None:
        return list(names)
    return [tensor.op.name if tensor.name.endswith(":0") else tensor.name]


def gather_tensors_aliases(tensors):
    """The names of several Tensors, in one list."""
    return [name for tensor in tensors for name in get_tensor_aliases(tensor)]


def collect_named_outputs(collections, alias, outputs):
    """Puts a Tensor into collections under a name; gives the Tensor."""
    if collections:
        add_to_collections(collections, outputs)
        add_alias(outputs, alias)
    return outputs


def convert_collection_to_dict(collection, clear_collection=False):
    """The Tensors of a collection by their names.

    Args:
      collection: its name.
      clear_collection: True to empty it.
    """
    found = {
        name: tensor for tensor in get_collection(collection) for name in get_tensor_aliases(tensor)
    }
    if clear_collection:
        del get_collection_ref(collection)[:]
    return found

"""TensorInfos: Tensors of a graph as a SavedModel tells of them, and found again by them."""

from millrace._graph.graph import get_default_graph
from millrace._graph.sparse_tensor import SparseTensor
from millrace._saving.graph_messages import TensorShapeProto
from millrace._saving.model_messages import CooSparse, TensorInfo, shape_message


def build_tensor_info(tensor):
    """The TensorInfo of a Tensor, Variable or SparseTensor."""
    info = TensorInfo(
        dtype=tensor.dtype.as_datatype_enum, tensor_shape=shape_message(tensor.get_shape())
    )
    if isinstance(tensor, SparseTensor):
        info.coo_sparse = CooSparse(
            values_tensor_name=tensor.values.name,
            indices_tensor_name=tensor.indices.name,
            dense_shape_tensor_name=tensor.dense_shape.name,
        )
    else:
        info.name = tensor.name
    return info


def build_tensor_info_from_op(op):
    """The TensorInfo of an Operation: its name alone."""
    return TensorInfo(name=op.name, tensor_shape=TensorShapeProto(unknown_rank=True))


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """The Tensor or SparseTensor of a graph that a TensorInfo tells of.

    Args:
      tensor_info: the TensorInfo.
      graph: the Graph; the default one if None.
      import_scope: a name scope that the graph was put under.

    Raises:
      KeyError: if it is not there; ValueError: if the TensorInfo names nothing.
    """
    graph = graph or get_default_graph()

    def found(name):
        return graph.get_tensor_by_name(scoped(name, import_scope))

    if tensor_info.HasField("coo_sparse"):
        sparse = tensor_info.coo_sparse
        return SparseTensor(
            found(sparse.indices_tensor_name),
            found(sparse.values_tensor_name),
            found(sparse.dense_shape_tensor_name),
        )
    if not tensor_info.HasField("name"):
        raise ValueError(
            f"Invalid TensorInfo: {tensor_info}. Expected `coo_sparse`, or `name` for a dense tensor."
        )
    return found(tensor_info.name)


def get_element_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """The Operation or Tensor that a TensorInfo names. KeyError if it is not there."""
    graph = graph or get_default_graph()
    return graph.as_graph_element(scoped(tensor_info.name, import_scope))


def scoped(name, import_scope):
    """The name that something has whose graph was put under a name scope."""
    return f"{import_scope.rstrip('/')}/{name}" if import_scope else name

"""The messages by which a SavedModel tells what goes in and out of its graph, and which files it needs."""

from millrace._saving.graph_messages import DataType, Dim, TensorProto, TensorShapeProto
from millrace._values.messages import Message, by_name, many


class CooSparse(Message):
    """The three Tensors of a SparseTensor, by name."""

    _fields = {
        "values_tensor_name": (1, str),
        "indices_tensor_name": (2, str),
        "dense_shape_tensor_name": (3, str),
    }


class TensorInfo(Message):
    """A Tensor or SparseTensor by name, with type and shape."""

    CooSparse = CooSparse
    _fields = {
        "name": (1, str),
        "dtype": (2, DataType),
        "tensor_shape": (3, TensorShapeProto),
        "coo_sparse": (4, CooSparse),
        "composite_tensor": (5, bytes),
    }


class SignatureDef(Message):
    """A use of a graph: its inputs and outputs, each a TensorInfo under a name of its own."""

    _fields = {
        "inputs": (1, by_name(TensorInfo)),
        "outputs": (2, by_name(TensorInfo)),
        "method_name": (3, str),
        "defaults": (4, by_name(TensorProto)),
    }


class AssetFileDef(Message):
    """A file that a graph reads, and the Tensor that tells where it is."""

    _fields = {"tensor_info": (1, TensorInfo), "filename": (2, str)}


class AnyMessage(Message):
    """A message of any class, which is named; `known_kinds` has those that text may spell out."""

    _fields = {"type_url": (1, str), "value": (2, bytes)}
    known_kinds = {"type.googleapis.com/tensorflow.AssetFileDef": AssetFileDef}

    @classmethod
    def of(cls, message):
        """The same for a message of a known class."""
        (url,) = (url for url, kind in cls.known_kinds.items() if kind is type(message))
        return cls(type_url=url, value=message.SerializeToString())


class AnyList(Message):
    _fields = {"value": (1, many(AnyMessage))}


def shape_message(shape):
    """The TensorShapeProto of a TensorShape."""
    if shape.dims is None:
        return TensorShapeProto(unknown_rank=True)
    sizes = (-1 if size is None else size for size in shape.as_list())
    return TensorShapeProto(dim=[Dim(size=size) for size in sizes])

"""The messages that a GraphDef is made of, field by field: for writing it as text, and for MetaGraphs."""

import numpy as np

from millrace import _millrace
from millrace._values import dtypes
from millrace._values.message_text import Enum
from millrace._values.messages import Message, by_name, double, many


class DataType(Enum):
    """A type by its number."""

    names = {
        number + reference: f"DT_{name.upper()}{'_REF' if reference else ''}"
        for number, name, *_ in _millrace.dtypes()
        for reference in (0, 100)
    }


class Dim(Message):
    _fields = {"size": (1, int), "name": (2, str)}


class TensorShapeProto(Message):
    _fields = {"dim": (2, many(Dim)), "unknown_rank": (3, bool)}


class TensorProto(Message):
    _fields = {
        "dtype": (1, DataType),
        "tensor_shape": (2, TensorShapeProto),
        "version_number": (3, int),
        "tensor_content": (4, bytes),
        "float_val": (5, many(float)),
        "double_val": (6, many(double)),
        "int_val": (7, many(int)),
        "string_val": (8, many(bytes)),
        "scomplex_val": (9, many(float)),
        "int64_val": (10, many(int)),
        "bool_val": (11, many(bool)),
        "dcomplex_val": (12, many(double)),
        "half_val": (13, many(int)),
        "uint32_val": (16, many(int)),
        "uint64_val": (17, many(int)),
    }


class NameAttrList(Message):
    _fields = {"name": (1, str)}  # attr follows: it holds AttrValues


class ListValue(Message):
    _fields = {
        "s": (2, many(bytes)),
        "i": (3, many(int)),
        "f": (4, many(float)),
        "b": (5, many(bool)),
        "type": (6, many(DataType)),
        "shape": (7, many(TensorShapeProto)),
        "tensor": (8, many(TensorProto)),
        "func": (9, many(NameAttrList)),
    }


class AttrValue(Message):
    _is_choice = True
    _fields = {
        "list": (1, ListValue),
        "s": (2, bytes),
        "i": (3, int),
        "f": (4, float),
        "b": (5, bool),
        "type": (6, DataType),
        "shape": (7, TensorShapeProto),
        "tensor": (8, TensorProto),
        "placeholder": (9, str),
        "func": (10, NameAttrList),
    }


NameAttrList._fields["attr"] = (2, by_name(AttrValue))


class NodeDebugInfo(Message):
    _fields = {
        "original_node_names": (1, many(str)),
        "original_func_names": (2, many(str)),
    }


class NodeDef(Message):
    _fields = {
        "name": (1, str),
        "op": (2, str),
        "input": (3, many(str)),
        "device": (4, str),
        "attr": (5, by_name(AttrValue)),
        "experimental_debug_info": (6, NodeDebugInfo),
    }


class ArgDef(Message):
    _fields = {
        "name": (1, str),
        "description": (2, str),
        "type": (3, DataType),
        "type_attr": (4, str),
        "number_attr": (5, str),
        "type_list_attr": (6, str),
        "is_ref": (16, bool),
    }


class AttrDef(Message):
    _fields = {
        "name": (1, str),
        "type": (2, str),
        "default_value": (3, AttrValue),
        "description": (4, str),
        "has_minimum": (5, bool),
        "minimum": (6, int),
        "allowed_values": (7, AttrValue),
    }


class OpDeprecation(Message):
    _fields = {"version": (1, int), "explanation": (2, str)}


class OpDef(Message):
    _fields = {
        "name": (1, str),
        "input_arg": (2, many(ArgDef)),
        "output_arg": (3, many(ArgDef)),
        "attr": (4, many(AttrDef)),
        "summary": (5, str),
        "description": (6, str),
        "deprecation": (8, OpDeprecation),
        "is_aggregate": (16, bool),
        "is_stateful": (17, bool),
        "is_commutative": (18, bool),
        "allows_uninitialized_input": (19, bool),
        "control_output": (20, many(str)),
        "is_distributed_communication": (21, bool),
    }


class OpList(Message):
    _fields = {"op": (1, many(OpDef))}


class FunctionDef(Message):
    _fields = {
        "signature": (1, OpDef),
        "node_def": (3, many(NodeDef)),
        "ret": (4, by_name(str)),
        "attr": (5, by_name(AttrValue)),
        "control_ret": (6, by_name(str)),
    }


class GradientDef(Message):
    _fields = {"function_name": (1, str), "gradient_func": (2, str)}


class FunctionDefLibrary(Message):
    _fields = {"function": (1, many(FunctionDef)), "gradient": (2, many(GradientDef))}


class VersionDef(Message):
    _fields = {"producer": (1, int), "min_consumer": (2, int), "bad_consumers": (3, many(int))}


class GraphDefMessage(Message):
    """A GraphDef with all that is in it."""

    _fields = {
        "node": (1, many(NodeDef)),
        "library": (2, FunctionDefLibrary),
        "version": (3, int),
        "versions": (4, VersionDef),
    }


def tensor_message(value, dtype):
    """The TensorProto of a NumPy array, or of bytes, as a tensor of a DType."""
    if dtype == dtypes.string:
        array = np.asarray(value, object)
        texts = [item.encode() if isinstance(item, str) else item for item in array.flat]
        content = {"string_val": texts}
    else:
        array = np.asarray(value, dtype.as_numpy_dtype)
        content = {"tensor_content": array.tobytes()}
    return TensorProto(
        dtype=dtype.as_datatype_enum,
        tensor_shape=TensorShapeProto(dim=[Dim(size=size) for size in array.shape]),
        **content,
    )

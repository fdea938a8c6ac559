"""What is known of each op: its arguments and attributes, looked up once per op."""

import collections

from millrace import _millrace
from millrace._values import dtypes, tensor_values
from millrace._values.tensor_shape import TensorShape


class Arg:
    """An input or output argument of an op."""

    __slots__ = ("name", "dtype", "type_attr", "type_list_attr", "number_attr", "is_ref")

    def __init__(self, name, dtype, type_attr, type_list_attr, number_attr, is_ref):
        self.name = name
        self.dtype = dtypes.as_dtype(dtype) if dtype else None
        self.type_attr = type_attr
        self.type_list_attr = type_list_attr
        self.number_attr = number_attr
        self.is_ref = is_ref


class Attr:
    """An attribute of an op; `default` is (kind, plain value) or None."""

    __slots__ = ("name", "kind", "default", "allowed")

    def __init__(self, name, kind, default, allowed):
        self.name = name
        self.kind = kind
        self.default = default
        self.allowed = allowed


class OpSpec:
    """One op: `inputs` and `outputs` (Args), `attrs` by name, and which attrs the inputs decide."""

    def __init__(self, name, description):
        inputs, outputs, attrs, self.is_stateful = description
        self.name = name
        self.inputs = [Arg(*arg) for arg in inputs]
        self.outputs = [Arg(*arg) for arg in outputs]
        self.attrs = {attr[0]: Attr(*attr) for attr in attrs}
        self.inferred = {
            attr
            for arg in self.inputs
            for attr in (arg.type_attr, arg.type_list_attr, arg.number_attr)
            if attr
        }
        self.result_type = None
        if len(self.outputs) > 1:
            self.result_type = collections.namedtuple(name, [arg.name for arg in self.outputs])

    def plain_attr(self, key, value):
        """An attribute as the C++ side takes it (attr_conversion.h), from what a program may write."""
        attr = self.attrs.get(key)
        convert = _PLAIN.get(attr.kind) if attr is not None else None
        if convert is None:
            return value
        try:
            return convert(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} (attribute '{key}' of '{self.name}' Op)") from None


def _type_number(value):
    return dtypes.as_dtype(value).base_dtype.as_datatype_enum


def _plain_shape(value):
    return TensorShape(value).plain


# From what a program may write to what the C++ side takes, where these differ.
_PLAIN = {
    "type": _type_number,
    "list(type)": lambda value: [_type_number(item) for item in value],
    "shape": _plain_shape,
    "list(shape)": lambda value: [_plain_shape(item) for item in value],
    "tensor": tensor_values.make_constant,
    "float": float,
    "list(int)": list,
    "list(float)": list,
    "list(string)": list,
}


class _Specs(dict):
    """name -> OpSpec, filled when first asked for."""

    def __missing__(self, name):
        description = _millrace.ops.describe(name)
        if description is None:
            near = ", ".join(suggestions(name))
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"There is no op named '{name}'{hint}")
        self[name] = spec = OpSpec(name, description)
        return spec


specs = _Specs()


def suggestions(name):
    """The names of ops that are like `name`."""
    return _millrace.ops.suggestions(name)

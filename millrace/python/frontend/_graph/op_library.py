"""What is known of each op: its arguments and attributes, looked up once per op."""

import collections

from millrace import _millrace
from millrace._values import dtypes, tensor_values
from millrace._values.tensor_shape import TensorShape

Arg = collections.namedtuple(
    "Arg", ["name", "dtype", "type_attr", "type_list_attr", "number_attr", "is_ref"]
)
Attr = collections.namedtuple("Attr", ["name", "kind", "default", "allowed"])


class OpSpec:
    """One op: `inputs` and `outputs` (Args), `attrs` by name, and which attrs the inputs decide."""

    def __init__(self, name, description):
        inputs, outputs, attrs, self.is_stateful = description
        self.name = name
        self.inputs = [_arg(arg) for arg in inputs]
        self.outputs = [_arg(arg) for arg in outputs]
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


def _shape_dims(value):
    return TensorShape(value)._dims


# From what a program may write to what the C++ side takes, where these differ.
_PLAIN = {
    "type": _type_number,
    "list(type)": lambda value: [_type_number(item) for item in value],
    "shape": _shape_dims,
    "list(shape)": lambda value: [_shape_dims(item) for item in value],
    "tensor": tensor_values.make_constant,
    "float": float,
    "list(int)": list,
    "list(float)": list,
    "list(string)": list,
}


def _arg(arg):
    name, dtype, *rest = arg
    return Arg(name, dtypes.as_dtype(dtype) if dtype else None, *rest)


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

"""What is known of each op: its arguments and attributes, looked up once per op."""

import collections

from millrace import _millrace, dtypes

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


def _arg(arg):
    name, dtype, *rest = arg
    return Arg(name, dtypes.as_dtype(dtype) if dtype else None, *rest)


class _Specs(dict):
    """name -> OpSpec, filled when first asked for."""

    def __missing__(self, name):
        description = _millrace.ops.describe(name)
        if description is None:
            near = ", ".join(_millrace.ops.suggestions(name))
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"There is no op named '{name}'{hint}")
        self[name] = spec = OpSpec(name, description)
        return spec


specs = _Specs()


def names():
    """The names of all ops."""
    return _millrace.ops.names()

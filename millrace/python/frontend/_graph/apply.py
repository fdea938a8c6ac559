"""apply_op: from an op's name and Python values to a node. What every generated wrapper calls."""

import numpy as np

from millrace._graph.composite import composite_among
from millrace._graph.conversion import convert, dtype_among, own_dtype
from millrace._graph.graph import get_default_graph
from millrace._graph.op_specs import specs
from millrace._graph.operation import Tensor
from millrace._values import dtypes


def apply_op(op_name, values, attrs, name=None):
    """Adds a node of the op `op_name` to the graph that its inputs are in.

    Args:
      op_name: the name of the op.
      values: one value per input argument: what `tf.convert_to_tensor` takes, or a list of such for
        arguments that are lists.
      attrs: the attributes that the inputs do not decide; None leaves one at its default.
      name: a name for the node; None for the op's.

    Returns:
      a Tensor, a list of Tensors, a namedtuple of both, or the Operation if it has no output (a list of none, too).

    Raises:
      TypeError: if a type does not fit; ValueError: if a shape or an attribute does not.
    """
    spec = specs[op_name]
    graph = _graph_for(values)
    current = get_default_graph()
    try:
        if graph is not current and not current.takes_from(graph):
            with graph.as_default():
                return _add(graph, spec, values, attrs, name)
        return _add(current, spec, values, attrs, name)
    except (TypeError, ValueError):
        taker = composite_among(values)
        if taker is None:
            raise
    # Not inside of `except`: an error would be shown as one that came of the other.
    return taker.take_call(
        op_name, lambda *tensors: apply_op(op_name, tensors, attrs, name), values, {}
    )


def _graph_for(values):
    for value in values:
        if type(value) is Tensor:
            return value.graph
        if isinstance(value, (list, tuple)):
            for item in value:
                if type(item) is Tensor:
                    return item.graph
        graph = getattr(value, "graph", None)
        if graph is not None:
            return graph
    return get_default_graph()


def _add(graph, spec, values, attrs, name):
    full_name = graph.op_name(name, spec.name)
    scope = graph.swap_name_scope(full_name)  # for constants that have to be made for the inputs
    try:
        inputs, decided = _Inputs(spec, values, attrs).convert()
    finally:
        graph.swap_name_scope(scope)
    for key, value in attrs.items():
        if value is not None:
            decided[key] = spec.plain_attr(key, value)
        elif key in spec.attrs and spec.attrs[key].kind == "shape" and key not in decided:
            decided[key] = None  # an unknown shape is a value
    return _result(graph, graph.add_node(spec.name, inputs, decided, full_name), spec, decided)


class _Inputs:
    """The input arguments of one node on their way from values to Tensors."""

    def __init__(self, spec, values, attrs):
        self._spec = spec
        self._values = values
        self._types = {}  # type attribute -> (DType, name of the argument that decided it)
        self._decided = {}  # attribute -> plain value
        for key in spec.inferred:
            if attrs.get(key) is not None and spec.attrs[key].kind == "type":
                self._types[key] = (dtypes.as_dtype(attrs[key]).base_dtype, key)

    def convert(self):
        tensors = []
        for arg, value in zip(self._spec.inputs, self._values):
            if arg.number_attr or arg.type_list_attr:
                tensors.extend(self._list(arg, value))
            else:
                tensors.append(self._single(arg, value))
        for key, (dtype, _) in self._types.items():
            self._decided[key] = dtype.as_datatype_enum
        return tensors, self._decided

    def _single(self, arg, value):
        if arg.type_attr:
            wanted, decided_by = self._types.get(arg.type_attr, (None, None))
            if wanted is None and type(value) is not Tensor:
                wanted = self._ahead(arg.type_attr)
        else:
            wanted, decided_by = arg.dtype, None
        tensor = self._one(arg, value, wanted, decided_by)
        if arg.type_attr:
            self._check_allowed(arg.type_attr, arg.name, tensor.dtype.base_dtype)
            self._types.setdefault(arg.type_attr, (tensor.dtype.base_dtype, arg.name))
        return tensor

    def _one(self, arg, value, wanted, decided_by):
        op = self._spec.name
        hint = None
        if wanted is None and arg.type_attr:
            default = self._spec.attrs[arg.type_attr].default
            if default and (arg.number_attr or not self._is_allowed(arg.type_attr, value, default)):
                hint = dtypes.as_dtype(default[1])
        try:
            tensor = convert(value, wanted, arg.name, arg.is_ref, hint)
        except (TypeError, ValueError) as error:
            if not hasattr(value, "_as_tensor"):
                raise type(error)(f"Input '{arg.name}' of '{op}' Op: {error}") from None
            tensor = convert(value, None, arg.name, arg.is_ref)
        if arg.is_ref and not tensor.dtype.is_reference:
            raise TypeError(
                f"'{op}' Op requires that input '{arg.name}' be a mutable tensor "
                "(e.g.: a tf.Variable)"
            )
        if wanted is not None and tensor.dtype.base_dtype != wanted:
            reason = (
                f"type {wanted.name} of argument '{decided_by}'"
                if decided_by
                else f"expected type of {wanted.name}"
            )
            raise TypeError(
                f"Input '{arg.name}' of '{op}' Op has type {tensor.dtype.base_dtype.name} that does "
                f"not match {reason}."
            )
        return tensor

    def _is_allowed(self, type_attr, value, default):
        """Whether the type that a value has by itself is one that the op names: then it keeps that."""
        allowed = self._spec.attrs[type_attr].allowed
        if isinstance(value, (np.ndarray, np.generic)):
            is_number = value.dtype.kind in "biufc"
            return is_number and dtypes.as_dtype(value.dtype).as_datatype_enum in allowed
        # Integers are int32 by themselves too.
        if default[1] == dtypes.int32.as_datatype_enum:
            return False
        own = own_dtype(value)
        return own is not None and own.as_datatype_enum in allowed

    def _ahead(self, type_attr):
        """The type of the first Tensor among later arguments that must have the same type."""
        for arg, value in zip(self._spec.inputs, self._values):
            if arg.type_attr == type_attr:
                found = dtype_among(value if isinstance(value, (list, tuple)) else (value,))
                if found is not None:
                    return found
        return None

    def _list(self, arg, values):
        if not isinstance(values, (list, tuple)):
            if hasattr(values, "_as_tensor") or isinstance(values, (str, bytes)):
                raise TypeError(
                    f"Expected list for '{arg.name}' argument to '{self._spec.name}' Op, "
                    f"not {values!r}."
                )
            values = list(values)
        if arg.type_list_attr:
            return self._list_of_types(arg, values)
        wanted, decided_by = self._types.get(arg.type_attr, (None, None))
        if arg.dtype is not None:
            wanted = arg.dtype
        elif wanted is None:
            wanted = self._ahead(arg.type_attr)
        tensors = []
        for value in values:
            tensors.append(self._one(arg, value, wanted, decided_by))
            if wanted is None:
                wanted = tensors[0].dtype.base_dtype
        if arg.type_attr and wanted is not None:
            self._check_allowed(arg.type_attr, arg.name, wanted)
            self._types.setdefault(arg.type_attr, (wanted, arg.name))
        known = self._decided.setdefault(arg.number_attr, len(tensors))
        if known != len(tensors):
            raise ValueError(
                f"List argument '{arg.name}' to '{self._spec.name}' Op with length {len(tensors)} "
                f"must have the same length as the other lists ({known})."
            )
        return tensors

    def _list_of_types(self, arg, values):
        tensors = [
            convert(value, None, f"{arg.name}_{i}", arg.is_ref) for i, value in enumerate(values)
        ]
        self._decided[arg.type_list_attr] = [
            tensor.dtype.base_dtype.as_datatype_enum for tensor in tensors
        ]
        return tensors

    def _check_allowed(self, type_attr, arg_name, dtype):
        allowed = self._spec.attrs[type_attr].allowed
        if allowed and dtype.as_datatype_enum not in allowed:
            names = ", ".join(dtypes.as_dtype(number).name for number in allowed)
            raise TypeError(
                f"Value passed to parameter '{arg_name}' has DataType {dtype.name} not in list of "
                f"allowed values: {names}"
            )


def _result(graph, node_id, spec, decided):
    """What the wrapper of an op returns for the node that it made."""
    if not spec.outputs:
        return graph.operation(node_id)
    if len(spec.outputs) == 1:
        arg = spec.outputs[0]
        is_list = arg.number_attr or arg.type_list_attr
        if not is_list:
            return graph.tensor(node_id, 0)
        return graph.outputs(node_id) or graph.operation(node_id)
    outputs = graph.outputs(node_id)
    parts = []
    position = 0
    for arg in spec.outputs:
        if not arg.number_attr and not arg.type_list_attr:
            parts.append(outputs[position])
            position += 1
            continue
        length = _length(spec, arg, decided)
        parts.append(outputs[position : position + length])
        position += length
    return spec.result_type._make(parts)


def _length(spec, arg, decided):
    key = arg.number_attr or arg.type_list_attr
    value = decided[key] if key in decided else spec.attrs[key].default[1]
    return value if arg.number_attr else len(value)

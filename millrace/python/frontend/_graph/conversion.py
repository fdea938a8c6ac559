"""From values to Tensors: constants, and `convert_to_tensor`."""

import numpy as np

from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Operation, Tensor
from millrace._values import dtypes, tensor_values
from millrace._values.tensor_shape import Dimension, TensorShape

_registered = []  # (type, function), the latest first


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A Tensor with this value.

    Args:
      value: a number, bytes, str, a nested list of them, or a NumPy array.
      dtype: its type; None takes the array's, else int32, float32, bool, complex128 or string.
      shape: its shape; a value with fewer elements is filled up with its last one.
      name: a name for the node.
      verify_shape: True to refuse values of another shape instead.

    Raises:
      TypeError: if the value does not fit the type; ValueError: if it does not fit the shape.
    """
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
    if shape is not None:
        shape = TensorShape(shape).as_list()
        if verify_shape and np.shape(value) != tuple(shape):
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {np.shape(value)}.")
    made = tensor_values.make_constant(value, dtype, shape)
    graph = get_default_graph()
    attrs = {"value": made, "dtype": made.dtype}
    return graph.tensor(graph.add_node("Const", [], attrs, graph.op_name(name, "Const")), 0)


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """A Tensor for a Tensor, Variable, number, string, array, or a nested list of these.

    Args:
      value: what to convert; a list that holds Tensors is stacked.
      dtype: the type that it must have; None for what it is.
      name: a name for the node, if one has to be made.
      preferred_dtype: the type to try first where the value leaves a choice.
      dtype_hint: the same, by its newer name.

    Raises:
      TypeError: if it cannot have the type; ValueError: if a Tensor has another.
    """
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    return convert(value, dtype, name, hint=hint)


def convert(value, dtype=None, name=None, as_ref=False, hint=None):
    """convert_to_tensor for the library itself; `as_ref` asks for a variable's own output."""
    if type(value) is Tensor:
        return value._as_tensor(dtype)
    as_tensor = getattr(value, "_as_tensor", None)
    if as_tensor is not None:
        return as_tensor(dtype, name, as_ref)
    for kind, function in _registered:
        if isinstance(value, kind):
            made = function(value, dtype=dtype, name=name, as_ref=as_ref)
            if made is not NotImplemented:
                return made
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor: it is no value")
    if isinstance(value, Dimension):
        value, hint = _known_size(value), hint or dtypes.int32
    elif isinstance(value, TensorShape):
        value, hint = _known_dims(value), hint or dtypes.int32
    elif isinstance(value, (list, tuple)) and value:
        if _holds_tensors(value):
            return _stacked(value, dtype, name)
        value = _plain(value)
    if dtype is None and hint is not None and not tensor_values.would_wrap(value, hint):
        try:
            return constant(value, hint, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, dtype, name=name or "Const")


def _known_size(dimension):
    if dimension.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor")
    return dimension.value


def _known_dims(shape):
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {shape}")
    return shape.as_list()


def _holds_tensors(items):
    return any(
        _holds_tensors(item) if isinstance(item, (list, tuple)) else hasattr(item, "_as_tensor")
        for item in items
    )


def _plain(items):
    """The list with Dimensions as numbers."""
    if not any(isinstance(item, (Dimension, list, tuple)) for item in items):
        return items
    return [
        _known_size(item)
        if isinstance(item, Dimension)
        else _plain(item)
        if isinstance(item, (list, tuple))
        else item
        for item in items
    ]


def _stacked(items, dtype, name):
    """One Tensor for a list in which some items are Tensors, all of their type."""
    if dtype is None:
        dtype = dtype_among(items)
    parts = [convert(item, dtype and dtype.base_dtype) for item in items]
    # Not by the op's wrapper, which converts its arguments by this module.
    graph = get_default_graph()
    if not graph.takes_from(parts[0].graph):
        graph = parts[0].graph
    attrs = {"N": len(parts), "T": parts[0].dtype.base_dtype.as_datatype_enum, "axis": 0}
    name = graph.op_name(name or "packed", "Pack")
    return graph.tensor(graph.add_node("Pack", parts, attrs, name), 0)


def dtype_among(items):
    """The type of the first Tensor or Variable in a nested list; None if there is none."""
    for item in items:
        if isinstance(item, (list, tuple)):
            found = dtype_among(item)
            if found is not None:
                return found
        elif hasattr(item, "_as_tensor"):
            return item.dtype.base_dtype
    return None


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Teaches convert_to_tensor a type.

    Args:
      base_type: a type, or a tuple of types.
      conversion_func: called with (value, dtype=, name=, as_ref=); returns a Tensor, or
        NotImplemented.
      priority: accepted; the function registered last is asked first.
    """
    _registered.insert(0, (base_type, conversion_func))


def is_convertible(value):
    """False for objects of foreign types, which may have operators of their own for Tensors."""
    return (
        hasattr(value, "_as_tensor")
        or isinstance(value, (int, float, complex, str, bytes, list, tuple, Dimension, TensorShape))
        or type(value).__module__ == "numpy"
        or any(isinstance(value, kind) for kind, _ in _registered)
    )


def constant_value(tensor, partial=False):
    """The value of a Tensor as NumPy has it, if it is known without running anything; else None."""
    if not isinstance(tensor, Tensor):
        return None
    return tensor.graph.constant_value(tensor)


def convert_n_to_tensor(values, dtype=None, name=None):
    """A Tensor for each of `values`."""
    return [convert_to_tensor(value, dtype, name) for value in values]


def own_dtype(value):
    """The type that what is no Tensor becomes if none is asked for; None if there is none."""
    if isinstance(value, (list, tuple)):
        if _holds_tensors(value):
            return dtype_among(value)
        try:
            value = _plain(value)
        except ValueError:
            return None
    elif not isinstance(value, (bool, int, float, complex, str, bytes)):
        return None
    try:
        return tensor_values.to_array(value)[1]
    except (TypeError, ValueError):
        return None

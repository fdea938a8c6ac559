"""Values as TensorProtos and back: what programs send to a server of models."""

import numpy as np

from millrace._saving.graph_messages import TensorProto, tensor_message
from millrace._values import dtypes, tensor_values

_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """The TensorProto of a value.

    Args:
      values: a number, bytes, str, a nested list of them, or a NumPy array; a TensorProto is returned.
      dtype, shape: as in tf.constant, shape of which fills up with the last element.
      verify_shape: True to refuse values of another shape.
      allow_broadcast: True to fill up with a single element alone.

    Raises:
      TypeError: if the value does not fit the type, or not the shape that is to be verified.
      ValueError: if it has too many elements, or no single one to fill up with.
    """
    if isinstance(values, TensorProto):
        return values
    array, dtype = tensor_values.to_array(values, dtype)
    if shape is not None:
        shape = tuple(int(size) for size in shape)
        if verify_shape and array.shape != shape:
            raise TypeError(f"Expected Tensor's shape: {shape}, got {array.shape}.")
        if allow_broadcast and array.size not in (1, int(np.prod(shape))):
            raise ValueError(
                f"shape {array.shape} can't be broadcast to {shape}: it has no 1 element"
            )
        array = tensor_values.filled(array, shape)
    return tensor_message(array, dtype)


def make_ndarray(tensor):
    """The NumPy array of a TensorProto; of strings, one of bytes as objects.

    Raises:
      TypeError: if it is of a type that holds no numbers or strings.
      ValueError: if it has more or fewer elements than its shape.
    """
    shape = [int(each.size) for each in tensor.tensor_shape.dim]
    size = int(np.prod(shape, dtype=np.int64))
    dtype = dtypes.as_dtype(int(tensor.dtype)).base_dtype
    if dtype == dtypes.string:
        return _filled_up(np.array(list(tensor.string_val), object), size).reshape(shape)
    kind = np.dtype(dtype.as_numpy_dtype)
    if tensor.tensor_content:
        if len(tensor.tensor_content) != size * kind.itemsize:
            raise ValueError(
                f"a {dtype.name} TensorProto of shape {shape} has {len(tensor.tensor_content)} bytes "
                f"of content, and not {size * kind.itemsize}"
            )
        return np.frombuffer(tensor.tensor_content, kind).copy().reshape(shape)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        values = np.array(list(tensor.half_val), np.uint16).view(kind)
    elif dtype.is_complex:
        parts = tensor.scomplex_val if dtype == dtypes.complex64 else tensor.dcomplex_val
        values = np.array(list(parts), dtype.real_dtype.as_numpy_dtype).view(kind)
    elif dtype.is_integer or dtype.is_quantized or dtype.name in _FIELDS:
        values = np.array(list(getattr(tensor, _FIELDS.get(dtype.name, "int_val")))).astype(kind)
    else:
        raise TypeError(f"Unsupported tensor type: {dtype.name}")
    return _filled_up(values, size).reshape(shape)


def _filled_up(values, size):
    """All elements: the last one that is there stands for those that are not."""
    if len(values) > size or not len(values) and size:
        raise ValueError(f"a TensorProto of {size} elements has {len(values)} values")
    return np.concatenate([values, np.repeat(values[-1:], size - len(values))])

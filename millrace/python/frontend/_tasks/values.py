"""Values on their way between programs: JSON, with words of its own for tuples, bytes and tensors.

What JSON has no word for is an object with the one key "!" that says what it is. Reading runs no code,
but for pickles, which are refused unless both sides asked for them.
"""

import base64
import pickle

import numpy as np

_MARK = "!"
_KINDS = "biufc"  # NumPy's letters for the tensors that travel as their bytes
_PLAIN = (type(None), bool, int, float, str)


def packed(value, pickles=False, where="value"):
    """A value as what `json` can write.

    Args:
      value: None, numbers, str, bytes, lists, tuples, dicts, NumPy arrays and scalars, and these in
        each other.
      pickles: True to pickle what is none of these.
      where: what the value is, for the error.

    Raises:
      TypeError: for anything else, and says where it is.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (bytes, bytearray)):
        return {_MARK: "bytes", "base64": _text(bytes(value))}
    if type(value) is list:
        return [packed(each, pickles, f"{where}[{i}]") for i, each in enumerate(value)]
    if type(value) is tuple:
        return {_MARK: "tuple", "of": packed(list(value), pickles, where)}
    if type(value) is dict:
        return _packed_dict(value, pickles, where)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _KINDS:
        array = np.asarray(value)
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        of = {"dtype": array.dtype.name, "shape": list(array.shape), "base64": _text(data)}
        return {_MARK: "tensor", "scalar": isinstance(value, np.generic), **of}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        of = packed(value.ravel().tolist(), pickles, where)
        return {_MARK: "texts", "shape": list(value.shape), "of": of}
    if pickles:
        return {_MARK: "pickle", "base64": _text(pickle.dumps(value))}
    raise TypeError(
        f"{where} is a {type(value).__name__}, which does not travel: give numbers, text, bytes, lists, "
        "tuples, dicts and arrays, or make the App with pickles=True where it is sent and where it is run"
    )


def _packed_dict(value, pickles, where):
    if all(type(key) is str for key in value) and _MARK not in value:
        return {key: packed(each, pickles, f"{where}[{key!r}]") for key, each in value.items()}
    return {_MARK: "dict", "of": packed([list(each) for each in value.items()], pickles, where)}


def _text(data):
    return base64.b64encode(data).decode("ascii")


def unpacked(value, pickles=False):
    """The value of what `packed` gave.

    Raises:
      ValueError: for what it never gives, and for a pickle if none are wanted.
    """
    if isinstance(value, list):
        return [unpacked(each, pickles) for each in value]
    if not isinstance(value, dict):
        return value
    if _MARK not in value:
        return {key: unpacked(each, pickles) for key, each in value.items()}
    kind = value[_MARK]
    if kind == "pickle" and not pickles:
        raise ValueError(
            "a value came as a pickle, which can run any code when it is read: make the App with "
            "pickles=True if all who reach its broker are trusted"
        )
    try:
        return _READERS[kind](value, pickles)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a value of kind {kind!r} can't be read: {error!r}") from None


def _bytes(value):
    return base64.b64decode(value["base64"], validate=True)


def _tensor(value, _pickles):
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in _KINDS:
        raise ValueError(f"a tensor of type {value['dtype']!r} does not travel")
    array = np.frombuffer(_bytes(value), dtype.newbyteorder("<")).astype(dtype)
    array = array.reshape(value["shape"])
    return array[()] if value.get("scalar") else array


def _texts(value, pickles):
    elements = unpacked(value["of"], pickles)
    array = np.empty(len(elements), object)
    array[:] = elements
    return array.reshape(value["shape"])


_READERS = {
    "bytes": lambda value, _pickles: _bytes(value),
    "dict": lambda value, pickles: {key: of for key, of in unpacked(value["of"], pickles)},
    "pickle": lambda value, _pickles: pickle.loads(_bytes(value)),
    "tensor": _tensor,
    "texts": _texts,
    "tuple": lambda value, pickles: tuple(unpacked(value["of"], pickles)),
}

"""Element types: tf.float32, tf.string and the rest, and `as_dtype`.

The numbers are those of TensorFlow's DataType. A reference type (what a variable's own output
carries) is the type's number plus 100 and prints as `float32_ref`.
"""

import numpy as np

from millrace import _millrace

_REF = 100

# number -> (name, bytes, NumPy type or None), as C++ has them but for names that NumPy has otherwise.
# Types that NumPy lacks use what their values come as: bfloat16 as float32, quantized and narrow ones as
# the integers that store them.
_NUMPY_NAMES = {"float": "float32", "double": "float64", "half": "float16"}
_TYPES = {
    number: (_NUMPY_NAMES.get(name, name), size, numpy_type)
    for number, name, size, numpy_type in _millrace.dtypes()
}


def _called(*prefixes):
    """The numbers of the types whose names begin so: a name tells the kind."""
    return {number for number, (name, _, _) in _TYPES.items() if name.startswith(prefixes)}


_FLOATING = _called("float", "bfloat")
_INTEGER = _called("int", "uint")
_UNSIGNED = _called("uint")
_QUANTIZED = _called("qint", "quint")
_COMPLEX = _called("complex")


class DType:
    """The type of a tensor's elements. There is one object per type; compare with ==."""

    __slots__ = ("_number",)

    def __init__(self, number):
        if number % _REF not in _TYPES or number > 2 * _REF:
            raise TypeError(f"{number} is not the number of a type")
        self._number = number

    @property
    def as_datatype_enum(self):
        """The number of this type in TensorFlow's DataType."""
        return self._number

    @property
    def name(self):
        name = _TYPES[self._number % _REF][0]
        return name + "_ref" if self.is_reference else name

    @property
    def is_reference(self):
        """True for the type of a variable's own output."""
        return self._number > _REF

    # TensorFlow's name of it, which programs have found.
    _is_ref_dtype = is_reference

    @property
    def base_dtype(self):
        """The type without its reference."""
        return _BY_NUMBER[self._number % _REF]

    @property
    def as_reference(self):
        """The type of a variable's own output that has values of this type."""
        return _BY_NUMBER[self._number % _REF + _REF]

    _as_ref = as_reference

    @property
    def real_dtype(self):
        """The type of the real part: of complex64 it is float32; others are their own."""
        return {8: float32, 18: float64}.get(self._number % _REF, self.base_dtype)

    @property
    def as_numpy_dtype(self):
        """The NumPy type that values of this type come as (object for string)."""
        numpy_type = _TYPES[self._number % _REF][2]
        if numpy_type is None:
            raise TypeError(f"{self.name} has no NumPy type: its values stay in the runtime")
        return numpy_type

    @property
    def is_bool(self):
        return self._number % _REF == 10

    @property
    def is_floating(self):
        return self._number % _REF in _FLOATING

    @property
    def is_integer(self):
        """True for signed and unsigned integers that are not quantized."""
        return self._number % _REF in _INTEGER

    @property
    def is_unsigned(self):
        return self._number % _REF in _UNSIGNED

    @property
    def is_complex(self):
        return self._number % _REF in _COMPLEX

    @property
    def is_quantized(self):
        return self._number % _REF in _QUANTIZED

    @property
    def is_numpy_compatible(self):
        return _TYPES[self._number % _REF][2] is not None

    @property
    def size(self):
        """Bytes of one element; 1 for strings, resources and variants, as in TensorFlow."""
        return 1 if self._number % _REF in (7, 20, 21) else _TYPES[self._number % _REF][1]

    @property
    def min(self):
        """The smallest value. TypeError for types without one."""
        return self._limits().min

    @property
    def max(self):
        return self._limits().max

    def _limits(self):
        if self.is_floating and self.is_numpy_compatible:
            return np.finfo(self.as_numpy_dtype)
        if self.is_integer or self.is_quantized:
            return np.iinfo(self.as_numpy_dtype)
        raise TypeError(f"{self.name} has no smallest and largest value")

    def is_compatible_with(self, other):
        """True if a tensor of type `other` may be used where this type is asked for."""
        other = as_dtype(other)
        return self._number in (other._number, other.base_dtype._number)

    def __eq__(self, other):
        if self is other:
            return True
        if other is None:
            return False
        try:
            return self._number == as_dtype(other)._number
        except TypeError:
            return False

    def __hash__(self):
        return self._number

    def __str__(self):
        return f"<dtype: '{self.name}'>"

    def __repr__(self):
        return f"tf.{self.name}"

    def __reduce__(self):
        return as_dtype, (self.name,)


_BY_NUMBER = {n: DType(n) for base in _TYPES for n in (base, base + _REF)}
_BY_NAME = {dtype.name: dtype for dtype in _BY_NUMBER.values()}
_BY_NAME.update(
    {"float": _BY_NUMBER[1], "double": _BY_NUMBER[2], "half": _BY_NUMBER[19]},
    float_ref=_BY_NUMBER[101],
    double_ref=_BY_NUMBER[102],
    half_ref=_BY_NUMBER[119],
)

float32 = _BY_NUMBER[1]
float64 = double = _BY_NUMBER[2]
int32 = _BY_NUMBER[3]
uint8 = _BY_NUMBER[4]
int16 = _BY_NUMBER[5]
int8 = _BY_NUMBER[6]
string = _BY_NUMBER[7]
complex64 = _BY_NUMBER[8]
int64 = _BY_NUMBER[9]
bool = _BY_NUMBER[10]
qint8 = _BY_NUMBER[11]
quint8 = _BY_NUMBER[12]
qint32 = _BY_NUMBER[13]
bfloat16 = _BY_NUMBER[14]
qint16 = _BY_NUMBER[15]
quint16 = _BY_NUMBER[16]
uint16 = _BY_NUMBER[17]
complex128 = _BY_NUMBER[18]
float16 = half = _BY_NUMBER[19]
resource = _BY_NUMBER[20]
variant = _BY_NUMBER[21]
uint32 = _BY_NUMBER[22]
uint64 = _BY_NUMBER[23]

_BY_PYTHON_TYPE = {
    float: float32,
    int: int32,
    type(True): bool,
    complex: complex128,
    str: string,
    bytes: string,
    object: string,
}
# NumPy's name -> type; the first of several types that use it is the one whose name it is.
_BY_NUMPY = {
    np.dtype(numpy_type): _BY_NUMBER[number]
    for number, (name, _, numpy_type) in _TYPES.items()
    if numpy_type is not None and (name == numpy_type.__name__.rstrip("_") or name == "string")
}


def of_number(number):
    """The DType with this number, which must be one."""
    return _BY_NUMBER[number]


def as_dtype(value):
    """The DType for a DType, a number, a name, a NumPy type or a Python type.

    Raises:
      TypeError: if it is none of these.
    """
    if isinstance(value, DType):
        return value
    try:
        found = (
            _BY_NUMBER.get(value)
            if type(value) is int
            else _BY_NAME.get(value)
            if isinstance(value, str)
            else _BY_PYTHON_TYPE.get(value)
        )
    except TypeError:  # not hashable
        found = None
    if found is not None:
        return found
    try:
        numpy_type = np.dtype(value)
    except TypeError:
        raise TypeError(f"Cannot convert value {value!r} to a TensorFlow DType.") from None
    if numpy_type.kind in "SU":
        return string
    found = _BY_NUMPY.get(numpy_type.newbyteorder("="))
    if found is None:
        raise TypeError(f"Cannot convert value {value!r} to a TensorFlow DType.")
    return found


ALL = (
    "float16 float32 float64 double half bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "bool string complex64 complex128 qint8 quint8 qint16 quint16 qint32 resource variant"
).split()
__all__ = [*ALL, "DType", "as_dtype"]

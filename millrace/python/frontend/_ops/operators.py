"""What + - * / and the other operators do to a Tensor (and, through it, to a Variable)."""

from millrace import _gen as gen_ops
from millrace._graph.composite import takes_composites
from millrace._graph.conversion import convert, dtype_among, is_convertible
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Tensor
from millrace._ops.complex_values import abs as magnitude
from millrace._ops.linear_algebra import matmul
from millrace._ops.slicing import strided_slice_of
from millrace._values import dtypes


def _binary(function, name):
    """(x.__op__(y), x.__rop__(y)): what is no Tensor takes the type of x."""

    def apply(x, y):
        if type(y) is not Tensor and not is_convertible(y):
            return NotImplemented
        return function(x, y, name=name)

    def reflected(x, y):
        if not is_convertible(y):
            return NotImplemented
        return function(y, x, name=name)

    return apply, reflected


@takes_composites
def true_divide(x, y, name=None):
    """x / y as Python divides: integers become floating first.

    int8, uint8, int16 and uint16 become float32; int32, uint32, int64 and uint64 float64.

    Raises:
      TypeError: if the types of x and y differ.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        wanted = dtype_among([x, y])
        x = convert(x, name="x", hint=wanted)
        y = convert(y, name="y", hint=x.dtype.base_dtype)
        kind = x.dtype.base_dtype
        if kind != y.dtype.base_dtype:
            raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
        if kind.is_integer:
            wider = dtypes.float32 if kind.size <= 2 else dtypes.float64
            x, y = (gen_ops.cast(value, DstT=wider) for value in (x, y))
        return gen_ops.real_div(x, y, name=scope)


@takes_composites
def python2_divide(x, y, name=None):
    """x / y as TensorFlow 1 calls it `tf.div`: integers are divided like integers."""
    with name_scope(name, "div", [x, y]) as scope:
        x = convert(x, name="x")
        y = convert(y, x.dtype.base_dtype, name="y")
        divide = (
            gen_ops.real_div if x.dtype.is_floating or x.dtype.is_complex else gen_ops.floor_div
        )
        return divide(x, y, name=scope)


def _logical(function, other):
    """&, | and ^: of bools the logical op, of integers the bitwise one."""

    def apply(x, y, name=None):
        if dtype_among([x, y]) == dtypes.bool:
            return function(x, y, name=name)
        return getattr(gen_ops, other)(x, y, name=name)

    return apply


def _xor(x, y, name=None):
    return gen_ops.logical_and(
        gen_ops.logical_or(x, y), gen_ops.logical_not(gen_ops.logical_and(x, y)), name=name
    )


def _op(function):
    """The wrapper of an op of two inputs."""
    return lambda x, y, name=None: getattr(gen_ops, function)(x, y, name=name)


# Python's name of the operator -> (function, name of the node)
_ARITHMETIC = {
    "add": (_op("add"), "add"),
    "sub": (_op("sub"), "sub"),
    "mul": (_op("mul"), "mul"),
    "truediv": (true_divide, "truediv"),
    "floordiv": (_op("floor_div"), "floordiv"),
    "mod": (_op("floor_mod"), "mod"),
    "pow": (_op("pow"), "pow"),
    "matmul": (matmul, "matmul"),
    "and": (_logical(_op("logical_and"), "bitwise_and"), "and"),
    "or": (_logical(_op("logical_or"), "bitwise_or"), "or"),
    "xor": (_logical(_xor, "bitwise_xor"), "xor"),
}
_COMPARISONS = {
    "lt": (_op("less"), "Less"),
    "le": (_op("less_equal"), "LessEqual"),
    "gt": (_op("greater"), "Greater"),
    "ge": (_op("greater_equal"), "GreaterEqual"),
}
NAMES = [f"__{name}__" for name in (*_ARITHMETIC, *_COMPARISONS, "neg", "invert", "abs", "getitem")]
NAMES += [f"__r{name}__" for name in _ARITHMETIC]


def install():
    """Gives Tensor its operators."""
    for name, (function, node_name) in _ARITHMETIC.items():
        plain, reflected = _binary(function, node_name)
        setattr(Tensor, f"__{name}__", plain)
        setattr(Tensor, f"__r{name}__", reflected)
    for name, (function, node_name) in _COMPARISONS.items():
        setattr(Tensor, f"__{name}__", _binary(function, node_name)[0])
    Tensor.__neg__ = lambda x: gen_ops.neg(x)
    Tensor.__invert__ = lambda x: gen_ops.logical_not(x)
    Tensor.__abs__ = lambda x: magnitude(x)
    Tensor.__getitem__ = strided_slice_of


def delegate(cls):
    """Gives a class whose objects convert to Tensors the same operators."""

    def of(name):
        return lambda self, *others: getattr(Tensor, name)(self._as_tensor(), *others)

    for name in NAMES:
        setattr(cls, name, of(name))

"""Checks of values, ranks and types: tf.assert_*. What is known while the graph is built is checked then."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert, no_op, with_dependencies
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.operation import Tensor
from millrace._ops.arrays import rank as rank_of
from millrace._ops.reductions import reduce_all, reduce_any
from millrace._values import dtypes
from millrace._values.errors import InvalidArgumentError

__all__ = [
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
    "assert_type",
    "is_numeric_tensor",
]


_COMPARISONS = {
    "==": (gen_ops.equal, np.equal),
    "!=": (gen_ops.not_equal, np.not_equal),
    "<": (gen_ops.less, np.less),
    "<=": (gen_ops.less_equal, np.less_equal),
    ">": (gen_ops.greater, np.greater),
    ">=": (gen_ops.greater_equal, np.greater_equal),
}


def _checked(sign, x, y, data, summarize, message, scope):
    """The Operation that compares all elements of two Tensors."""
    compare, known_compare = _COMPARISONS[sign]
    told = [message or "", f"Condition x {sign} y did not hold element-wise:"]
    known = constant_value(x), constant_value(y)
    if known[0] is not None and known[1] is not None and not np.all(known_compare(*known)):
        values = [f"x ({x.name}) = {known[0]}", f"y ({y.name}) = {known[1]}"]
        raise InvalidArgumentError(None, None, " ".join([*told, *values]).strip())
    data = [*told, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y] if data is None else data
    return Assert(reduce_all(compare(x, y)), data, summarize=summarize, name=scope)


_ARGUMENTS = """
    Args:
      {inputs}
      data: a list of Tensors to show; {shown} if None.
      summarize: how many elements of each.
      message: what to say first.
      name: the name scope.

    Raises:
      InvalidArgumentError: if it does not hold: at once if the values are known, else when it runs.
    """


def _comparison(name, sign):
    default_name = name

    def check(x, y, data=None, summarize=None, message=None, name=None):
        with name_scope(name, default_name, [x, y]) as scope:
            x = convert(x, name="x", hint=getattr(y, "dtype", None))
            y = convert(y, x.dtype.base_dtype, name="y")
            return _checked(sign, x, y, data, summarize, message, scope)

    check.__name__ = check.__qualname__ = name
    inputs = "x, y: Tensors of one type whose shapes broadcast."
    check.__doc__ = f"An Operation that fails unless x {sign} y for all elements.\n"
    check.__doc__ += _ARGUMENTS.format(inputs=inputs, shown="x and y")
    return check


assert_equal = _comparison("assert_equal", "==")
assert_none_equal = _comparison("assert_none_equal", "!=")
assert_less = _comparison("assert_less", "<")
assert_less_equal = _comparison("assert_less_equal", "<=")
assert_greater = _comparison("assert_greater", ">")
assert_greater_equal = _comparison("assert_greater_equal", ">=")


def _sign(name, sign):
    default_name = name

    def check(x, data=None, summarize=None, message=None, name=None):
        with name_scope(name, default_name, [x]) as scope:
            x = convert(x, name="x")
            y = convert(0, x.dtype.base_dtype)
            return _checked(sign, x, y, data, summarize, message, scope)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"An Operation that fails unless x {sign} 0 for all elements.\n"
    check.__doc__ += _ARGUMENTS.format(inputs="x: a Tensor of numbers.", shown="x")
    return check


assert_positive = _sign("assert_positive", ">")
assert_negative = _sign("assert_negative", "<")
assert_non_negative = _sign("assert_non_negative", ">=")
assert_non_positive = _sign("assert_non_positive", "<=")


def _rank_check(x, ranks, compare, words, data, summarize, message, name, default_name):
    """The check that compare(rank of x, rank) holds for one of `ranks`; numbers or scalar Tensors."""
    with name_scope(name, default_name, [x, *ranks]) as scope:
        x = convert(x, name="x")
        ranks = [convert(rank, dtypes.int32, name="rank") for rank in ranks]
        known = [constant_value(rank) for rank in ranks]
        for value in known:
            if value is not None and value.ndim != 0:
                raise ValueError(f"Rank must be a scalar, got shape {value.shape}.")
        if x.shape.ndims is not None and None not in known:
            if any(_COMPARISONS[compare][1](x.shape.ndims, value) for value in known):
                return no_op(name="static_checks_determined_all_ok")
            wanted = " or ".join(str(value) for value in known)
            raise ValueError(
                f"{message or ''} Tensor {x.name} must have rank {words}{wanted}. Received rank "
                f"{x.shape.ndims}, shape {x.shape}".strip()
            )
        own = rank_of(x)
        if data is None:
            data = [
                message or "",
                f"Tensor {x.name} must have rank {words}",
                *ranks,
                "but has",
                own,
            ]
        fits = [_COMPARISONS[compare][0](own, rank) for rank in ranks]
        return Assert(reduce_any(gen_ops.pack(fits, axis=0)), data, summarize=summarize, name=scope)


def assert_rank(x, rank, data=None, summarize=None, message=None, name=None):
    """An Operation that fails unless `x` has this rank.

    Args:
      x: a Tensor.
      rank: a scalar.
      data, summarize, message, name: as for assert_equal.

    Raises:
      ValueError: if it is known that it has another. InvalidArgumentError when it runs.
    """
    return _rank_check(x, [rank], "==", "", data, summarize, message, name, "assert_rank")


def assert_rank_at_least(x, rank, data=None, summarize=None, message=None, name=None):
    """An Operation that fails unless `x` has at least this rank; see assert_rank."""
    words, default_name = "at least ", "assert_rank_at_least"
    return _rank_check(x, [rank], ">=", words, data, summarize, message, name, default_name)


def assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None):
    """An Operation that fails unless `x` has one of these ranks; see assert_rank."""
    ranks = list(ranks)
    return _rank_check(x, ranks, "==", "in ", data, summarize, message, name, "assert_rank_in")


def assert_type(tensor, tf_type, message=None, name=None):
    """An Operation that does nothing. TypeError if `tensor` is not of this type."""
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert(tensor, name="tensor")
        wanted = dtypes.as_dtype(tf_type).base_dtype
        if tensor.dtype.base_dtype != wanted:
            raise TypeError(
                f"{message or ''} {tensor.name} must be of type {wanted.name}, not "
                f"{tensor.dtype.base_dtype.name}".strip()
            )
        return no_op(name="statically_determined_correct_type")


def assert_integer(x, message=None, name=None):
    """An Operation that does nothing. TypeError if `x` is not of an integer type."""
    with name_scope(name, "assert_integer", [x]):
        x = convert(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""} Expected "x" to be integer type. Found: {x.dtype.name}'.strip()
            )
        return no_op(name="statically_determined_was_integer")


def assert_scalar(tensor, name=None, message=None):
    """`tensor` as it is. ValueError if it is known, or may be, that it has axes."""
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = convert(tensor)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''} Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.".strip()
            )
        return tensor


def in_range(numbers, last, message):
    """Numbers as they are. Errors as of `assert_less_equal` if one of them is not in [0, last]."""
    checks = [
        assert_less_equal(numbers, last, message=message),
        assert_greater_equal(numbers, 0, message=message),
    ]
    return with_dependencies(checks, numbers)


def is_numeric_tensor(tensor):
    """Whether something is a Tensor of numbers."""
    kind = getattr(tensor, "dtype", None)
    is_tensor = isinstance(tensor, Tensor)
    return is_tensor and (kind.is_floating or kind.is_integer or kind.is_complex)

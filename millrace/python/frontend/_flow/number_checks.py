"""Checks of numbers and types beside those of `checks`: what is near, what is finite, what is a list."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert, group, with_dependencies
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._graph.graph import get_default_graph
from millrace._graph.sparse_tensor import is_sparse
from millrace._ops.complex_values import abs
from millrace._ops.reductions import reduce_all
from millrace._values import dtypes

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)


def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    """An Operation that fails unless abs(x - y) < atol + rtol * abs(y) for all elements.

    Args:
      x, y: Tensors of one type, of numbers with a point, whose shapes broadcast.
      rtol, atol: scalars of that type; None for 10 times its smallest step from 1.
      data: a list of Tensors to show; x and y if None.
      summarize: how many elements of each.
      message: what to say first.
      name: the name scope.

    Raises:
      InvalidArgumentError: when it runs and it does not hold.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert(x, name="x")
        kind = x.dtype.base_dtype
        y = convert(y, kind, "y")
        real = kind.real_dtype
        step = 10 * float(np.finfo(real.as_numpy_dtype).eps)
        rtol = convert(step if rtol is None else rtol, real, "rtol")
        atol = convert(step if atol is None else atol, real, "atol")
        if data is None:
            told = f"x and y not equal to tolerance rtol = {_shown(rtol)}, atol = {_shown(atol)}"
            data = [message or "", told, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        allowed = atol + rtol * abs(y)
        is_near = reduce_all(gen_ops.less(abs(x - y), allowed))
        return Assert(is_near, data, summarize=summarize)


def _shown(scalar):
    known = constant_value(scalar)
    return scalar.name if known is None else known


def assert_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """A Tensor as it is, which fails with InvalidArgumentError when an element is no finite number.

    Args:
      t, x: the Tensor, by the older or the newer name.
      msg, message: what to say, likewise.
      name: the name scope.

    Raises:
      ValueError: if one of them is given by no name.
    """
    x, message = t if x is None else x, msg if message is None else message
    if x is None or message is None:
        raise ValueError("assert_all_finite needs a Tensor and a message")
    with name_scope(name, "VerifyFinite", [x]):
        x = convert(x, name="x")
        return with_dependencies([gen_ops.check_numerics(x, message=message)], x)


verify_tensor_all_finite = assert_all_finite


def add_check_numerics_ops():
    """An Operation that fails when a float Tensor that the default graph has by now is not finite.

    Tensors are checked in the order in which they were made, and the message names the first.

    Raises:
      ValueError: if the graph has tf.cond or tf.while_loop, whose branches do not always run.
    """
    checks = []
    for op in get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype not in _FLOATS:
                continue
            if op.control_context is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    f"operations such as `tf.cond()` or `tf.while_loop()`: '{op.name}' is in one."
                )
            with control_dependencies(checks):
                message = f"{op.name}:{output.value_index}"
                checks = [gen_ops.check_numerics(output, message=message)]
    return group(*checks)


def assert_proper_iterable(values):
    """TypeError unless `values` is a list or the like: a Tensor, an array and text are none."""
    if (
        hasattr(values, "_as_tensor")
        or is_sparse(values)
        or isinstance(values, (np.ndarray, bytes, str))
    ):
        raise TypeError(
            f"Expected argument 'values' to be a \"proper\" iterable.  Found: {type(values)}"
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def assert_same_float_dtype(tensors=None, dtype=None):
    """The one float type that Tensors have.

    Args:
      tensors: a list of Tensors; those that are None are passed over.
      dtype: the type that they must have; None for that of the first.

    Returns:
      a DType; float32 if there is nothing to ask.

    Raises:
      ValueError: if they differ, or are of no float type.
    """
    for tensor in tensors or []:
        if tensor is None:
            continue
        own = tensor.dtype.base_dtype
        if dtype is not None and dtypes.as_dtype(dtype).base_dtype != own:
            raise ValueError(
                f"Tensor type mismatch: '{tensor.name}' is {own.name}, and "
                f"{dtypes.as_dtype(dtype).name} is expected"
            )
        dtype = own
    dtype = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype.name}.")
    return dtype

"""tf.test.compute_gradient: gradients beside differences of the function's own values."""

import numpy as np

from millrace._graph.conversion import convert
from millrace._graph.default_session import session_or_default
from millrace._graph.operation import Operation
from millrace._ops.arrays import zeros
from millrace._ops.gradients import gradients

__all__ = ["compute_gradient", "compute_gradient_error"]


def compute_gradient(
    x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None
):
    """The matrices of derivatives of y by x: by tf.gradients, and by differences.

    Needs a default session.

    Args:
      x: a Tensor, or a list of them.
      x_shape: its shape as a list of ints; of a list of Tensors, a list of shapes.
      y: a Tensor that depends on x.
      y_shape: its shape.
      x_init_value: where to take the derivatives, a NumPy array or a list of them; random numbers if
        None.
      delta: how far apart the values of x are.
      init_targets: Operations that run first.
      extra_feed_dict: more feeds.

    Returns:
      (by tf.gradients, by differences): matrices with a row for each element of x and a column for
      each of y, complex elements counting as two; of a list, a list of such pairs.

    Raises:
      ValueError: if y does not depend on x, or the shape is not that of the value.
    """
    session = session_or_default(None, y.graph, "compute_gradient")
    if init_targets is not None:
        for each in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
            session.run(each) if isinstance(each, Operation) else each.run(session=session)
    if not isinstance(x, list):
        return _of_one(
            [x], 0, [x_shape], y, y_shape, [x_init_value], delta, extra_feed_dict, session
        )
    values = x_init_value or [None] * len(x)
    values = [_start(each, shape, value) for each, shape, value in zip(x, x_shape, values)]
    return [
        _of_one(x, i, x_shape, y, y_shape, values, delta, extra_feed_dict, session)
        for i in range(len(x))
    ]


def compute_gradient_error(
    x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None
):
    """The largest difference between the two matrices of compute_gradient; see there."""
    pairs = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = [pairs] if isinstance(pairs, tuple) else pairs
    error = 0
    for by_graph, by_differences in pairs:
        if by_graph.size or by_differences.size:
            error = np.maximum(error, np.fabs(by_graph - by_differences).max())
    return error


def _start(x, shape, value):
    """Where to take the derivatives."""
    if value is None:
        value = np.random.random_sample(shape).astype(x.dtype.as_numpy_dtype)
    value = np.asarray(value, x.dtype.as_numpy_dtype)
    if list(value.shape) != list(shape):
        raise ValueError(f"x_init_value has shape {list(value.shape)}, x_shape is {list(shape)}")
    return value


def _of_one(xs, at, shapes, y, y_shape, values, delta, feeds, session):
    values = [
        value if isinstance(value, np.ndarray) and i != at else _start(xs[i], shapes[i], value)
        for i, value in enumerate(values)
    ]
    feeds = {**dict(zip(xs, values)), **(feeds or {})}
    x, start = xs[at], values[at]
    arriving = zeros(y_shape, y.dtype.base_dtype)
    (by_x,) = gradients(y, x, grad_ys=arriving)
    if by_x is None:
        raise ValueError(f"'{y.name}' does not depend on '{x.name}'")
    by_x = convert(by_x)
    rows, columns = _parts(start.dtype) * start.size, _parts(y.dtype.as_numpy_dtype) * _size(
        y_shape
    )
    by_graph = np.zeros((rows, columns), _real(start.dtype))
    for column in range(columns):
        ones = np.zeros(y_shape, y.dtype.as_numpy_dtype)
        _flat(ones)[column] = 1
        found = session.run(by_x, {**feeds, arriving: ones})
        by_graph[:, column] = _flat(np.ascontiguousarray(found.astype(start.dtype)))
    by_differences = np.zeros((rows, columns), _real(start.dtype))
    for row in range(rows):
        values_there = []
        for step in (delta, -delta):
            moved = start.copy()
            _flat(moved)[row] += step
            found = np.ascontiguousarray(session.run(y, {**feeds, x: moved}))
            values_there.append(_flat(found).astype(_real(start.dtype)))
        by_differences[row] = (values_there[0] - values_there[1]) / (2 * delta)
    return by_graph, by_differences


def _size(shape):
    return int(np.prod(shape, dtype=np.int64))


def _parts(dtype):
    return 2 if np.dtype(dtype).kind == "c" else 1


def _real(dtype):
    return np.zeros(0, dtype).real.dtype


def _flat(array):
    """The numbers of an array in a row, both parts of complex ones; a view."""
    return array.reshape(-1).view(_real(array.dtype))

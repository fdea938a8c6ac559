"""Ordinary differential equations solved in the graph: dy/dt = func(y, t) from a known y on.

`odeint` chooses its steps by the error that it makes, `odeint_fixed` takes those it is told.
"""

from collections import namedtuple

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import Assert
from millrace._flow.tensor_array import TensorArray
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import convert, convert_to_tensor
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._ops.arithmetic import add_n, cast
from millrace._ops.arrays import size
from millrace._ops.reductions import reduce_all, reduce_mean
from millrace._values import dtypes

# The method of Dormand and Prince, of order 5: at which shares of a step slopes are taken, how those before weigh in
# the point where each is, in the error, and in the point half way (Shampine 1986). The last slope is that of the end.
_SHARES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1)
_POINTS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_OF_ORDER_4 = (1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
_ERROR = tuple(low - high for low, high in zip(_OF_ORDER_4, (*_POINTS[-1], 0)))
_HALF_WAY = tuple(
    weight / 2
    for weight in (
        6025192743 / 30085553152,
        0,
        51252292925 / 65400821598,
        -2691868925 / 45128329728,
        187940372067 / 1594534317056,
        -1776094331 / 19743644256,
        11237099 / 235043384,
    )
)
_ORDER = 5

# y and its slope at `end`, the next step `dt`, and the polynomial of the last step, which went from `start` to `end`.
_State = namedtuple("_State", "y slope start end dt polynomial")
_History = namedtuple("_History", "integrate_points error_ratio")


def odeint(
    func, y0, t, rtol=1e-6, atol=1e-12, method=None, options=None, full_output=False, name=None
):
    """Solves dy/dt = func(y, t) with steps as long as errors allow.

    Args:
      func: a function of y, a Tensor like y0, and of the time, a scalar, that returns the slope: a Tensor like y0.
      y0: y at t[0]: a floating or complex Tensor of any shape.
      t: a floating vector of times, each later than the one before; float64 if it is no Tensor.
      rtol, atol: what an element may be off in a step, as a share of it and beside that; scalars.
      method: "dopri5" or None: Runge-Kutta of order 5 with a polynomial between steps.
      options: with a method: a dictionary of `first_step` (1.0), `safety` (0.9, by what steps are shorter than they
        may be), `ifactor` (10.0) and `dfactor` (0.2), the most and the least that a step becomes longer by, and
        `max_num_steps` (1000) from one time to the next.
      full_output: True to return a dictionary, too.
      name: the name scope.

    Returns:
      y at all times, of the type of y0 and the shape [times, *y0.shape]. With full_output also a dictionary of
      Tensors: `num_func_evals`, how often func was asked; vectors with an element for each step: `integrate_points`,
      its end, and `error_ratio`, its error as a share of what is allowed; above 1 it was made again, shorter.

    Raises:
      ValueError: for another method, or options without one; TypeError: for y0 or t of other types, or an unknown
      option. InvalidArgumentError, when it runs: if times do not grow, there are too many steps, steps become too
      short to count, or y is not finite.
    """
    if method not in (None, "dopri5"):
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with name_scope(name, "odeint", [y0, t, rtol, atol]) as scope:
        y0, t = _checked(y0, t)
        real = y0.dtype.real_dtype
        tolerance = convert(rtol, real, "rtol"), convert(atol, real, "atol")
        made, history = _adaptive(func, y0, t, tolerance, scope, **(options or {}))
        if not full_output:
            return made
        points = history.integrate_points.stack()
        return made, {
            "num_func_evals": 6 * size(points) + 1,
            "integrate_points": points,
            "error_ratio": history.error_ratio.stack(),
        }


def _checked(y0, t):
    """Both as Tensors."""
    y0 = convert(y0, name="y0")
    t = convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    if not t.dtype.is_floating:
        raise TypeError("`t` must have a floating point dtype")
    return y0, t


def _growing(t):
    """A block whose nodes run if times grow."""
    grows = reduce_all(t[1:] > t[:-1])
    return control_dependencies([Assert(grows, ["`t` must be monotonic increasing"])])


def _adaptive(
    func,
    y0,
    t,
    tolerance,
    scope,
    first_step=1.0,
    safety=0.9,
    ifactor=10.0,
    dfactor=0.2,
    max_num_steps=1000,
):
    """(y at all times, the history of steps)."""
    clock = t.dtype.base_dtype
    safety, ifactor, dfactor = (convert(each, clock) for each in (safety, ifactor, dfactor))
    max_num_steps = convert(max_num_steps, dtypes.int32, "max_num_steps")

    def advance(state, history, steps):
        y, slope, _, begin, dt, polynomial = state
        checks = [
            Assert(begin + dt > begin, ["underflow in dt", dt]),
            Assert(steps < max_num_steps, ["max_num_steps exceeded"]),
            Assert(reduce_all(gen_ops.is_finite(abs(y))), ["non-finite values in state `y`", y]),
        ]
        with control_dependencies(checks):
            y_end, slopes = _step(func, y, slope, begin, dt)
        length = cast(dt, y.dtype)
        allowed = tolerance[1] + tolerance[0] * gen_ops.maximum(abs(y), abs(y_end))
        ratio = abs(length * _weighed(_ERROR, slopes)) / allowed
        ratio = gen_ops.sqrt(reduce_mean(ratio * ratio))
        y_next, slope_next, end, polynomial = cond(
            ratio <= 1,
            lambda: (y_end, slopes[-1], begin + dt, _polynomial(y, y_end, slopes, length)),
            lambda: (y, slope, begin, polynomial),
        )
        growth = gen_ops.pow(cast(ratio, clock), convert(1 / _ORDER, clock)) / safety
        shrinks = gen_ops.maximum(1 / ifactor, gen_ops.minimum(growth, 1 / dfactor))
        history = _History(
            _appended(history.integrate_points, begin + dt), _appended(history.error_ratio, ratio)
        )
        # Of a step that is made again, start and end are one: nobody asks for what is between.
        state = _State(y_next, slope_next, begin, end, dt / shrinks, polynomial)
        return state, history, steps + 1

    def reach(made, history, state, i):
        state, history, _ = while_loop(
            lambda state, *_: t[i] > state.end, advance, (state, history, 0)
        )
        return made.write(i, _between(state, t[i])), history, state, i + 1

    with _growing(t):
        times = size(t)
    state = _State(
        y0, _slope(func, y0, t[0]), t[0], t[0], convert(first_step, clock, "first_step"), [y0] * 5
    )
    history = _History(
        TensorArray(clock, size=0, dynamic_size=True),
        TensorArray(y0.dtype.real_dtype, size=0, dynamic_size=True),
    )
    made = TensorArray(y0.dtype.base_dtype, size=times).write(0, y0)
    made, history, _, _ = while_loop(
        lambda made, history, state, i: i < times, reach, (made, history, state, 1)
    )
    y = made.stack(name=scope)
    y.set_shape(t.shape.concatenate(y0.shape))
    return y, history


def _weighed(weights, slopes):
    return add_n([slope * weight for weight, slope in zip(weights, slopes) if weight])


def _step(func, y, slope, begin, dt):
    """(y at the end of a step, seven slopes: from that of its beginning to that of its end)."""
    length, slopes = cast(dt, y.dtype), [slope]
    for share, weights in zip(_SHARES, _POINTS):
        point = y + length * _weighed(weights, slopes)
        slopes.append(_slope(func, point, begin + share * dt))
    return point, slopes


def _slope(func, y, time):
    slope = convert(func(y, time), y.dtype.base_dtype)
    slope.set_shape(y.shape)
    return slope


def _polynomial(y, y_end, slopes, length):
    """Coefficients of the polynomial of a step's share, from the fourth power down to the constant.

    It meets y at the beginning, half way and at the end, and the slopes at both ends.
    """
    half_way = y + length * _weighed(_HALF_WAY, slopes)
    rise, rise_end = length * slopes[0], length * slopes[-1]
    return [
        2 * (rise_end - rise) - 8 * (y + y_end) + 16 * half_way,
        5 * rise - 3 * rise_end + 18 * y + 14 * y_end - 32 * half_way,
        rise_end - 4 * rise - 11 * y - 5 * y_end + 16 * half_way,
        rise,
        y,
    ]


def _between(state, time):
    """y at a time of the last step."""
    is_inside = gen_ops.logical_and(state.start <= time, time <= state.end)
    said = ["invalid interpolation, fails `t0 <= t <= t1`:", state.start, time, state.end]
    with control_dependencies([Assert(is_inside, said)]):
        share = cast((time - state.start) / (state.end - state.start), state.y.dtype)
    value = state.polynomial[0]
    for coefficient in state.polynomial[1:]:
        value = value * share + coefficient
    return value


def _appended(array, value):
    return array.write(array.size(), value)


# ---- Steps that are told -------------------------------------------------------------------------


def odeint_fixed(func, y0, t, dt=None, method="rk4", name=None):
    """Solves dy/dt = func(y, t) with steps of given lengths; gradients go through it.

    Args:
      func: a function of y, a Tensor like y0, and of the time, a scalar, that returns the slope: a Tensor like y0.
      y0: y at t[0]: a floating or complex Tensor of any shape.
      t: a floating vector of times, each later than the one before, how many is known; float64 if it is no Tensor.
      dt: how long a step may be, of the type of t: a scalar, or a vector with an element for each interval. Steps are
        a little shorter where an interval is no multiple. None for one step in each.
      method: "rk4", Runge-Kutta of order 4, or "midpoint", of order 2.
      name: the name scope.

    Returns:
      y at all times, of the type of y0 and the shape [times, *y0.shape].

    Raises:
      ValueError: for another method, or if t and dt do not fit; TypeError: for other types. InvalidArgumentError,
      when it runs: if times do not grow.
    """
    if method not in _CHANGES:
        raise ValueError(f"method not supported: {method}")
    change = _CHANGES[method]
    with name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = _checked(y0, t)
        intervals = t[1:] - t[:-1]
        if dt is None:
            dt = intervals
        dt = convert_to_tensor(dt, preferred_dtype=dtypes.float64, name="dt")
        if not dt.dtype.is_floating:
            raise TypeError("`dt` must have a floating point dtype")
        counts = gen_ops.ceil(intervals / dt)
        lengths = intervals / counts
        _check_sizes(t, lengths)
        counts = cast(counts, dtypes.int32)

        def reach(made, y, time, i):
            dt, count = lengths[i - 1], counts[i - 1]

            def advance(y, time, j):
                y_next = y + cast(change(func, y, time, dt), y.dtype)
                y_next.set_shape(y.shape)
                return y_next, time + dt, j + 1

            y, time, _ = while_loop(lambda y, time, j: j < count, advance, (y, time, 0))
            return made.write(i, y), y, time, i + 1

        with _growing(t), name_scope(method):
            times = size(t)
            made = TensorArray(y0.dtype.base_dtype, size=times).write(0, y0)
            made, _, _, _ = while_loop(
                lambda made, y, time, i: i < times, reach, (made, y0, t[0], 1)
            )
            y = made.stack()
            y.set_shape(t.shape.concatenate(y0.shape))
            return y


def _check_sizes(t, lengths):
    for each in (t, lengths):
        if len(each.shape.as_list()) > 1:
            raise ValueError("t must be a 1D tensor")
    times, steps = t.shape.as_list()[0], lengths.shape.as_list()[0]
    if None not in (times, steps) and times != steps + 1:
        raise ValueError("t and dt have incompatible lengths, must be N and N-1")


def _midpoint(func, y, time, dt):
    length = cast(dt, y.dtype)
    return length * func(y + func(y, time) * length / 2, time + dt / 2)


def _rk4(func, y, time, dt):
    length, half_way = cast(dt, y.dtype), time + dt / 2
    first = func(y, time)
    second = func(y + length * first / 2, half_way)
    third = func(y + length * second / 2, half_way)
    fourth = func(y + length * third, time + dt)
    return add_n([first, 2 * second, 2 * third, fourth]) * (length / 6)


_CHANGES = {"midpoint": _midpoint, "rk4": _rk4}

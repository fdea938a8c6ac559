"""Bijector: what all functions have that distributions are transformed by."""

import contextlib

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import ones, shape
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class Bijector:
    """A function y = f(x) with an inverse, of events that have at least so many axes.

    Classes that derive from it define what they have of `_forward(x)`, `_inverse(y)`, `_forward_log_det_jacobian(x)` or
    `_inverse_log_det_jacobian(y)`, for events of the fewest axes, and, if shapes change,
    `_forward_event_shape(shape)`, `_inverse_event_shape(shape)` and these with `_tensor` at the end.

    Args:
      graph_parents: accepted; kept.
      is_constant_jacobian: whether it stretches alike everywhere.
      validate_args: whether arguments are checked in each step.
      dtype: of what it takes and gives; None for any.
      forward_min_event_ndims, inverse_min_event_ndims: how many axes of x, and of y, belong together; one of them
        may be None, for the same number.
      name: the beginning of names of nodes.

    Raises:
      ValueError: if neither number is given, or one is negative.
    """

    def __init__(
        self,
        graph_parents=None,
        is_constant_jacobian=False,
        validate_args=False,
        dtype=None,
        forward_min_event_ndims=None,
        inverse_min_event_ndims=None,
        name=None,
    ):
        numbers = [forward_min_event_ndims, inverse_min_event_ndims]
        given = [number for number in numbers if number is not None]
        if not given:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
            )
        if min(given) < 0:
            raise ValueError(
                f"forward_min_event_ndims and inverse_min_event_ndims are {numbers}, not >= 0"
            )
        self._forward_min = given[0]
        self._inverse_min = given[-1]
        self._graph_parents = list(graph_parents or [])
        self._is_constant_jacobian, self._validate_args = is_constant_jacobian, validate_args
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        self._name = name or type(self).__name__
        # What values came from: the way back from them is known, and exact.
        self._sources = {}, {}

    graph_parents = property(lambda self: self._graph_parents)
    is_constant_jacobian = property(lambda self: self._is_constant_jacobian)
    validate_args = property(lambda self: self._validate_args)
    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._name)
    forward_min_event_ndims = property(lambda self: self._forward_min)
    inverse_min_event_ndims = property(lambda self: self._inverse_min)
    # Whether an y comes from one x; else `inverse` and its Jacobian are tuples, of one Tensor for each.
    is_injective = True

    @contextlib.contextmanager
    def _scope(self, name):
        with name_scope(f"{self._name.rstrip('/')}/{name}"):
            yield

    def _argument(self, value, name):
        x = convert(value, None if hasattr(value, "dtype") else self._dtype, name)
        if self._dtype is not None and x.dtype.base_dtype != self._dtype:
            raise TypeError(
                f"{self._name}: Input had dtype {x.dtype.name} but expected {self._dtype.name}."
            )
        return x

    def _has(self, hook):
        return getattr(self, hook, None) is not None

    def _hook(self, hook):
        if not self._has(hook):
            raise NotImplementedError(
                f"{hook.removeprefix('_')} not implemented: {type(self).__name__}"
            )
        return getattr(self, hook)

    def _carried(self, hook, value, direction, name, conditions):
        with self._scope(name):
            given = self._argument(value, "xy"[direction])
            known = self._sources[direction].get(given)
            if known is not None and not conditions:
                return known
            made = self._hook(hook)(given, **conditions)
            if not conditions:
                for each in made if isinstance(made, tuple) else [made]:
                    if each is not given:
                        self._sources[1 - direction][each] = given
            return made

    def forward(self, x, name="forward", **condition_kwargs):
        """f(x).

        Args:
          x: a Tensor of shape [..., *event].
          name: the name scope.
          **condition_kwargs: what the function of a class that takes more is given.

        Raises:
          TypeError: for another type. NotImplementedError: if there is no way.
        """
        return self._carried("_forward", x, 0, name, condition_kwargs)

    def inverse(self, y, name="inverse", **condition_kwargs):
        """x with f(x) = y; a tuple of several if it is not injective. Args and errors: as for forward."""
        return self._carried("_inverse", y, 1, name, condition_kwargs)

    # ---- By how much it stretches ----------------------------------------------------------------

    def _over_event(self, values, log, fewest, event_ndims):
        """The logarithm for events of more axes than the fewest: the sum of all of one event."""
        more = event_ndims - fewest
        if more < 0:
            raise ValueError(
                f"{self._name}: event_ndims must be larger than min_event_ndims: {event_ndims} < {fewest}"
            )
        if more == 0:
            return log
        sizes, rank = shape(values), values.shape.ndims
        rank = gen_ops.size(sizes) if rank is None else rank
        spread = log * ones(sizes[rank - event_ndims : rank - fewest], log.dtype)
        return reduce_sum(spread, list(range(-more, 0)))

    def _jacobian(self, own, other, move, value, direction, event_ndims, name, conditions):
        fewest = (self._forward_min, self._inverse_min)[direction]
        with self._scope(name):
            given = self._argument(value, "xy"[direction])
            known = constant_value(convert(event_ndims, dtypes.int32))
            if known is None:
                raise ValueError(f"{self._name}: event_ndims must be known, not {event_ndims}")
            event_ndims = int(known)
            if self._has(own):
                log, at = self._hook(own)(given, **conditions), given
            elif self._has(other) and self.is_injective:
                at = move(given, **conditions)
                log = -self._hook(other)(at, **conditions)
                change = self._inverse_min - self._forward_min
                event_ndims = event_ndims + (change if direction == 0 else -change)
                fewest = (self._inverse_min, self._forward_min)[direction]
            else:
                self._hook(own)
            if isinstance(log, tuple):
                return tuple(self._over_event(at, each, fewest, event_ndims) for each in log)
            return self._over_event(at, log, fewest, event_ndims)

    def forward_log_det_jacobian(
        self, x, event_ndims, name="forward_log_det_jacobian", **condition_kwargs
    ):
        """The logarithm of the size of the determinant of f's derivative at x.

        Args:
          x: a Tensor of shape [..., *event].
          event_ndims: the number of axes of an event: not fewer than forward_min_event_ndims.
          name, **condition_kwargs: as for forward.

        Returns:
          a Tensor that broadcasts with those axes of x which are of no event.

        Raises:
          ValueError: if event_ndims is too small. TypeError, NotImplementedError: as for forward.
        """
        return self._jacobian(
            *("_forward_log_det_jacobian", "_inverse_log_det_jacobian", self.forward),
            *(x, 0, event_ndims, name, condition_kwargs),
        )

    def inverse_log_det_jacobian(
        self, y, event_ndims, name="inverse_log_det_jacobian", **condition_kwargs
    ):
        """The same of the inverse, at y: of inverse_min_event_ndims; a tuple if it is not injective."""
        return self._jacobian(
            *("_inverse_log_det_jacobian", "_forward_log_det_jacobian", self.inverse),
            *(y, 1, event_ndims, name, condition_kwargs),
        )

    # ---- Shapes ----------------------------------------------------------------------------------

    def _forward_event_shape(self, input_shape):
        return input_shape

    def _inverse_event_shape(self, output_shape):
        return output_shape

    def _forward_event_shape_tensor(self, input_shape):
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape):
        return output_shape

    def forward_event_shape(self, input_shape):
        """The TensorShape of an event of y, for one of x, as far as it is known."""
        return TensorShape(self._forward_event_shape(TensorShape(input_shape)))

    def inverse_event_shape(self, output_shape):
        """The TensorShape of an event of x, for one of y, as far as it is known."""
        return TensorShape(self._inverse_event_shape(TensorShape(output_shape)))

    def forward_event_shape_tensor(self, input_shape, name="forward_event_shape_tensor"):
        """The shape of an event of y, an int32 vector, for one of x."""
        with self._scope(name):
            return self._forward_event_shape_tensor(convert(input_shape, dtypes.int32))

    def inverse_event_shape_tensor(self, output_shape, name="inverse_event_shape_tensor"):
        """The shape of an event of x, an int32 vector, for one of y."""
        with self._scope(name):
            return self._inverse_event_shape_tensor(convert(output_shape, dtypes.int32))

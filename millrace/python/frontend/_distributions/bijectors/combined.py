"""Bijectors that are made of others or of functions, and that change the order or the shape of elements."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._distributions.bijectors.bijector import Bijector
from millrace._graph.conversion import constant_value, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import concat, gather, reshape, shape
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


def _touched(changes):
    """How many axes of what comes in belong together, if each step takes and gives so many of them."""
    touched = now = 0
    for taken, given in changes:
        touched += max(0, taken - now)
        now = max(now, taken) + given - taken
    return touched


class Chain(Bijector):
    """Several bijectors, the last of which comes first: f(g(x)) for [f, g].

    Args:
      bijectors: a list of Bijectors; the identity if it is empty.
      validate_args, name: as for Bijector; the name is "chain_of_..." if None.

    Raises:
      ValueError: if they want inputs of different types.
    """

    def __init__(self, bijectors=None, validate_args=False, name=None):
        self._bijectors = list(bijectors or [])
        kinds = {each.dtype for each in self._bijectors} - {None}
        if len(kinds) > 1:
            raise ValueError(f"incompatible dtypes: {sorted(kind.name for kind in kinds)}")
        steps = [
            (each.forward_min_event_ndims, each.inverse_min_event_ndims) for each in self._bijectors
        ]
        names = [each.name.rstrip("/") for each in self._bijectors]
        super().__init__(
            is_constant_jacobian=all(each.is_constant_jacobian for each in self._bijectors),
            validate_args=validate_args,
            dtype=kinds.pop() if kinds else None,
            forward_min_event_ndims=_touched(reversed(steps)),
            inverse_min_event_ndims=_touched((given, taken) for taken, given in steps),
            name=name or "_of_".join(["chain", *names]) if names else name or "identity",
        )
        if not all(each.is_injective for each in self._bijectors):
            raise NotImplementedError(
                "Invert is not implemented for non-injective bijectors of a Chain"
            )

    bijectors = property(lambda self: self._bijectors)

    def _forward(self, x, **conditions):
        for each in reversed(self._bijectors):
            x = each.forward(x, **conditions.get(each.name, {}))
        return x

    def _inverse(self, y, **conditions):
        for each in self._bijectors:
            y = each.inverse(y, **conditions.get(each.name, {}))
        return y

    def _inverse_log_det_jacobian(self, y, **conditions):
        made, axes = convert(0, y.dtype.base_dtype), self.inverse_min_event_ndims
        for each in self._bijectors:
            own = conditions.get(each.name, {})
            made = made + each.inverse_log_det_jacobian(y, axes, **own)
            y = each.inverse(y, **own)
            axes += each.forward_min_event_ndims - each.inverse_min_event_ndims
        return made

    def _forward_log_det_jacobian(self, x, **conditions):
        made, axes = convert(0, x.dtype.base_dtype), self.forward_min_event_ndims
        for each in reversed(self._bijectors):
            own = conditions.get(each.name, {})
            made = made + each.forward_log_det_jacobian(x, axes, **own)
            x = each.forward(x, **own)
            axes += each.inverse_min_event_ndims - each.forward_min_event_ndims
        return made

    def _forward_event_shape(self, input_shape):
        for each in reversed(self._bijectors):
            input_shape = each.forward_event_shape(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape):
        for each in self._bijectors:
            output_shape = each.inverse_event_shape(output_shape)
        return output_shape

    def _forward_event_shape_tensor(self, input_shape):
        for each in reversed(self._bijectors):
            input_shape = each.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape):
        for each in self._bijectors:
            output_shape = each.inverse_event_shape_tensor(output_shape)
        return output_shape


class Invert(Bijector):
    """The inverse of a bijector.

    Args:
      bijector: a Bijector.
      validate_args, name: as for Bijector; the name is "invert_..." if None.

    Raises:
      NotImplementedError: if it has none, not being injective.
    """

    def __init__(self, bijector, validate_args=False, name=None):
        if not bijector.is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(
            bijector.graph_parents,
            bijector.is_constant_jacobian,
            validate_args,
            bijector.dtype,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            name=name or f"invert_{bijector.name.rstrip('/')}",
        )

    bijector = property(lambda self: self._bijector)

    def _forward(self, x, **conditions):
        return self._bijector.inverse(x, **conditions)

    def _inverse(self, y, **conditions):
        return self._bijector.forward(y, **conditions)

    def _forward_log_det_jacobian(self, x, **conditions):
        axes = self.forward_min_event_ndims
        return self._bijector.inverse_log_det_jacobian(x, axes, **conditions)

    def _inverse_log_det_jacobian(self, y, **conditions):
        axes = self.inverse_min_event_ndims
        return self._bijector.forward_log_det_jacobian(y, axes, **conditions)

    def _forward_event_shape(self, input_shape):
        return self._bijector.inverse_event_shape(input_shape)

    def _inverse_event_shape(self, output_shape):
        return self._bijector.forward_event_shape(output_shape)

    def _forward_event_shape_tensor(self, input_shape):
        return self._bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._bijector.forward_event_shape_tensor(output_shape)


class Inline(Bijector):
    """A bijector of functions that are given, each of which may be missing.

    Args:
      forward_fn, inverse_fn: functions of a Tensor that give one.
      inverse_log_det_jacobian_fn, forward_log_det_jacobian_fn: those that give the logarithms, for events of the fewest
        axes.
      forward_event_shape_fn, inverse_event_shape_fn: functions of a TensorShape; the same shape if missing.
      forward_event_shape_tensor_fn, inverse_event_shape_tensor_fn: those of an int32 vector.
      is_constant_jacobian, validate_args, forward_min_event_ndims, inverse_min_event_ndims, name: as for Bijector.
    """

    def __init__(
        self,
        forward_fn=None,
        inverse_fn=None,
        inverse_log_det_jacobian_fn=None,
        forward_log_det_jacobian_fn=None,
        forward_event_shape_fn=None,
        forward_event_shape_tensor_fn=None,
        inverse_event_shape_fn=None,
        inverse_event_shape_tensor_fn=None,
        is_constant_jacobian=False,
        validate_args=False,
        forward_min_event_ndims=None,
        inverse_min_event_ndims=None,
        name="inline",
    ):
        hooks = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }
        for hook, function in hooks.items():
            if function is not None:
                setattr(self, hook, function)
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            name=name,
        )


class Permute(Bijector):
    """Vectors in another order: y[i] = x[permutation[i]].

    Args:
      permutation: an integer vector, of each of the numbers below its length.
      validate_args, name: as for Bijector.

    Raises:
      TypeError: if it is of no integers. ValueError: if it is known, and no permutation.
    """

    def __init__(self, permutation, validate_args=False, name="permute"):
        with name_scope(name):
            given = convert(permutation, name="permutation")
        if not given.dtype.is_integer:
            raise TypeError(f"permutation.dtype ({given.dtype.name}) should be `int`-like.")
        known = constant_value(given)
        if known is not None and sorted(known.ravel()) != list(range(known.size)):
            raise ValueError(
                f"Permutation over `d` must contain exactly one of each of 0..d-1: {known}"
            )
        self._permutation = given
        super().__init__(None, True, validate_args, forward_min_event_ndims=1, name=name)

    permutation = property(lambda self: self._permutation)

    def _forward(self, x):
        return gather(x, self._permutation, axis=-1)

    def _inverse(self, y):
        return gather(y, gen_ops.invert_permutation(self._permutation), axis=-1)

    def _forward_log_det_jacobian(self, x):
        return convert(0, x.dtype.base_dtype)


class Reshape(Bijector):
    """Events in another shape.

    Args:
      event_shape_out: the shape of events of y, an integer vector; one size may be -1, for what is left.
      event_shape_in: the same of x; a vector if it is [-1].
      validate_args, name: as for Bijector.

    Raises:
      ValueError: if several sizes of one are -1, or both are known to hold other numbers of elements.
    """

    def __init__(self, event_shape_out, event_shape_in=(-1,), validate_args=False, name=None):
        name = name or "reshape"
        self._known = []
        with name_scope(name):
            given = [convert(each, dtypes.int32) for each in (event_shape_out, event_shape_in)]
        for each in given:
            if each.shape.ndims != 1 or each.shape[0].value is None:
                raise ValueError(
                    f"Reshape needs vectors of known length for shapes of events, not {each}"
                )
            known = constant_value(each)
            if known is not None and (known == -1).sum() > 1:
                raise ValueError(
                    f"At most one element of a shape may be -1, not several of {known.tolist()}"
                )
            self._known.append(None if known is None else known.tolist())
        self._out, self._in = given
        sizes = [np.prod(each) for each in self._known if each is not None and -1 not in each]
        if len(sizes) == 2 and sizes[0] != sizes[1]:
            raise ValueError(
                f"Input/output `event_size`s do not match: {self._known[1]} and {self._known[0]}"
            )
        super().__init__(
            is_constant_jacobian=True,
            validate_args=validate_args,
            forward_min_event_ndims=self._in.shape[0].value,
            inverse_min_event_ndims=self._out.shape[0].value,
            name=name,
        )

    def _reshaped(self, x, axes, sizes, known):
        before = shape(x)[: gen_ops.rank(x) - axes]
        made = reshape(x, concat([before, sizes], 0))
        if x.shape.ndims is not None:
            own = self._filled(known, x.shape[x.shape.ndims - axes :])
            made.set_shape(x.shape[: x.shape.ndims - axes].concatenate(own))
        return made

    @staticmethod
    def _filled(known, other):
        """The TensorShape of known sizes, with what is left for -1 if the other shape is known."""
        if known is None:
            return TensorShape(None)
        whole = other.num_elements()
        rest = int(np.prod([size for size in known if size != -1]))
        left = None if whole is None or rest == 0 else whole // rest
        return TensorShape([left if size == -1 else size for size in known])

    def _forward(self, x):
        return self._reshaped(x, self.forward_min_event_ndims, self._out, self._known[0])

    def _inverse(self, y):
        return self._reshaped(y, self.inverse_min_event_ndims, self._in, self._known[1])

    def _forward_log_det_jacobian(self, x):
        return convert(0, x.dtype.base_dtype)

    def _forward_event_shape(self, input_shape):
        return self._filled(self._known[0], input_shape)

    def _inverse_event_shape(self, output_shape):
        return self._filled(self._known[1], output_shape)

    def _forward_event_shape_tensor(self, input_shape):
        return self._left(self._out, input_shape)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._left(self._in, output_shape)

    @staticmethod
    def _left(sizes, other):
        is_left = gen_ops.less(sizes, 0)
        rest = gen_ops.prod(gen_ops.maximum(sizes, 1), [0])
        whole = gen_ops.prod(other, [0])
        return gen_ops.select_v2(is_left, whole // gen_ops.maximum(rest, 1), sizes)

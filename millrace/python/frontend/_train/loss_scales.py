"""Loss scales: numbers by which a loss is multiplied, so that small gradients don't vanish in half precision."""

import functools

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import group, no_op
from millrace._graph.conversion import constant, convert
from millrace._ops.gradients import IndexedSlices
from millrace._ops.reductions import reduce_all
from millrace._state.variables import Variable
from millrace._values import dtypes, structure


class LossScale:
    """What a loss is multiplied by; for classes that derive from it.

    A class of one's own defines __call__, update and get_config, and makes its variables with `_add_weight`.
    """

    def __init__(self):
        self._weights = {}

    def __call__(self):
        """The scale: a scalar of float32."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__")

    def update(self, grads):
        """(an Operation that changes the scale, whether the gradients are to be applied: a bool scalar).

        Args:
          grads: the gradients, a structure of Tensors, IndexedSlices and Nones, after they were divided by the
            scale.
        """
        raise NotImplementedError(f"{type(self).__name__} has no update")

    def get_config(self):
        """The arguments that make another one like it, a dictionary."""
        raise NotImplementedError(f"{type(self).__name__} has no get_config")

    @classmethod
    def from_config(cls, config):
        """One as get_config tells."""
        return cls(**config)

    def _add_weight(self, name, initial_value, dtype=None):
        """A variable of this scale, which is saved and not trained."""
        self._weights[name] = Variable(
            initial_value, name=name, dtype=dtype, trainable=False, use_resource=True
        )
        return self._weights[name]


class FixedLossScale(LossScale):
    """A scale that stays.

    Args:
      loss_scale_value: a number.

    Raises:
      ValueError: if it is no number, or less than 1.
    """

    def __init__(self, loss_scale_value):
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError(
                f"loss_scale_value must be a Python int or float: {loss_scale_value!r}"
            )
        if loss_scale_value < 1:
            raise ValueError(
                f"loss_scale_value must be at least 1: {loss_scale_value} would make gradients smaller"
            )
        self._value = float(loss_scale_value)

    def __call__(self):
        return constant(self._value, dtypes.float32)

    def update(self, grads):
        return no_op(), constant(True)

    def get_config(self):
        return {"loss_scale_value": self._value}


class DynamicLossScale(LossScale):
    """A scale that grows after many steps of finite gradients, and shrinks when one is not.

    Args:
      initial_loss_scale: what it begins with.
      increment_period: after how many steps of finite gradients it grows.
      multiplier: what it grows and shrinks by; it never falls below 1.
    """

    def __init__(self, initial_loss_scale=2**15, increment_period=2000, multiplier=2.0):
        super().__init__()
        self._initial = float(initial_loss_scale)
        self._period = int(increment_period)
        self._multiplier = float(multiplier)
        self._scale = self._add_weight("current_loss_scale", self._initial, dtypes.float32)
        self._good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self):
        return self._initial

    @property
    def increment_period(self):
        return self._period

    @property
    def multiplier(self):
        return self._multiplier

    def __call__(self):
        return convert(self._scale)

    def update(self, grads):
        is_finite = all_finite(grads)
        return self.updated(is_finite), is_finite

    def updated(self, is_finite):
        """The Operation that changes the scale after a step whose gradients are finite, or not."""

        def grown():
            larger = self._scale * self._multiplier
            # A scale that is infinite once would stay so.
            kept = gen_ops.select(gen_ops.is_finite(larger), larger, convert(self._scale))
            return group(
                self._scale.assign(kept, read_value=False),
                self._good_steps.assign(0, read_value=False),
            )

        def good():
            is_due = gen_ops.greater_equal(self._good_steps + 1, self._period)
            return cond(is_due, grown, lambda: group(self._good_steps.assign_add(1)))

        def bad():
            smaller = gen_ops.maximum(self._scale / self._multiplier, 1.0)
            return group(
                self._good_steps.assign(0, read_value=False),
                self._scale.assign(smaller, read_value=False),
            )

        return group(cond(is_finite, good, bad))

    def get_config(self):
        return {
            "initial_loss_scale": self._initial,
            "increment_period": self._period,
            "multiplier": self._multiplier,
        }


def all_finite(grads):
    """A bool scalar: whether no gradient of a structure has an infinity or a NaN. None has neither."""
    parts = [each.values if isinstance(each, IndexedSlices) else each for each in _flat(grads)]
    marks = [reduce_all(gen_ops.is_finite(part)) for part in parts if part is not None]
    return functools.reduce(gen_ops.logical_and, marks) if marks else constant(True)


def _flat(grads):
    return structure.flatten(grads)


def loss_scale_of(given):
    """A LossScale of one, of a number (which stays), or of "dynamic"; None for None.

    Raises:
      ValueError: for anything else.
    """
    if given is None or isinstance(given, LossScale):
        return given
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return FixedLossScale(given)
    if given == "dynamic":
        return DynamicLossScale()
    raise ValueError(f"loss_scale must be a number, 'dynamic' or a LossScale, but is {given!r}")

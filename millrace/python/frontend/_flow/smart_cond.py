"""A choice that is made while the graph is built, if what decides it is known by then."""

from millrace._flow.cond_context import cond
from millrace._graph.conversion import constant_value
from millrace._graph.operation import Tensor


def known_truth(pred):
    """True or False if `pred` is known while the graph is built, else None.

    Args:
      pred: a bool, 0, 1, or a bool scalar: a Tensor or Variable.

    Raises:
      TypeError: if it is of another type.
    """
    if isinstance(pred, bool) or type(pred) is int and pred in (0, 1):
        return bool(pred)
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if hasattr(pred, "_as_tensor"):
        return None
    raise TypeError(
        f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred!r}"
    )


def smart_cond(pred, true_fn, false_fn, name=None):
    """The result of one of two functions: of one alone if `pred` is known, else by tf.cond.

    Args:
      pred: a bool, 0, 1, or a bool scalar.
      true_fn, false_fn: functions without arguments.
      name: the name scope of a tf.cond.
    """
    known = known_truth(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()

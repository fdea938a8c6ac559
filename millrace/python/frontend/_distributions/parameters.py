"""Parameters of distributions: converted, of one type, and checked if that is asked for."""

from millrace import _gen as gen_ops
from millrace._flow.checks import assert_positive
from millrace._flow.control_flow import with_dependencies
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies
from millrace._ops.arrays import identity, ones_like, where
from millrace._ops.layers import log_softmax, softmax
from millrace._ops.reductions import reduce_all
from millrace._values import dtypes


def floats(**given):
    """Tensors of one float type: the first one's that has one, else float32."""
    typed = [value for value in given.values() if hasattr(value, "dtype")]
    dtype = dtypes.as_dtype(typed[0].dtype).base_dtype if typed else dtypes.float32
    if not dtype.is_floating:
        raise TypeError(f"parameters must be of a float type, and are {dtype.name}")
    return [convert(value, dtype, name) for name, value in given.items()]


def positive(validate, *tensors):
    """Tensors as they are; with `validate` they fail where an element is not positive."""
    checks = [assert_positive(each) for each in tensors] if validate else []
    with control_dependencies(checks):
        return [identity(each) for each in tensors]


def logits_and_probs(logits, probs, several, validate):
    """(logits, probs) from one of both: of classes along the last axis if there are `several`.

    Raises:
      ValueError: unless one of them is None.
    """
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if logits is not None:
        (logits,) = floats(logits=logits)
        return logits, softmax(logits) if several else gen_ops.sigmoid(logits)
    (probs,) = floats(probs=probs)
    if validate:
        in_range = gen_ops.logical_and(
            gen_ops.greater_equal(probs, 0.0), gen_ops.less_equal(probs, 1.0)
        )
        told = ["probs must be from 0 to 1:", probs]
        probs = with_dependencies([gen_ops.assert_(reduce_all(in_range), told)], probs)
    return gen_ops.log(probs) if several else gen_ops.log(probs) - gen_ops.log1p(-probs), probs


def log_shares(logits):
    return log_softmax(logits)


def defined(condition, value, distribution, message):
    """A statistic where a condition holds; elsewhere nan, or an error unless the distribution allows it."""
    if distribution.allow_nan_stats:
        missing = constant(float("nan"), value.dtype.base_dtype) * ones_like(value)
        return where(gen_ops.logical_and(condition, ones_like(condition)), value, missing)
    check = gen_ops.assert_(reduce_all(condition), [message])
    with control_dependencies([check]):
        return identity(value)

"""Variables that are kept wider than they are used: bfloat16 in the net, float32 in the checkpoint."""

import contextlib

from millrace._ops.arithmetic import cast
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes


def _kept_as_float32(getter, *args, dtype=None, **others):
    if dtype is None or dtypes.as_dtype(dtype).base_dtype != dtypes.bfloat16:
        return getter(*args, dtype=dtype, **others)
    return cast(getter(*args, dtype=dtypes.float32, **others), dtypes.bfloat16)


@contextlib.contextmanager
def bfloat16_scope(name=""):
    """A variable scope in which variables asked for as bfloat16 are float32, and are cast where they are used.

    Args:
      name: of the scope; "" for that around it.

    Yields:
      the VariableScope.
    """
    with variable_scope(name or "", custom_getter=_kept_as_float32) as scope:
        yield scope

"""tf.compat: v1 is this package itself."""

import contextlib as _contextlib
import datetime as _datetime
import numbers as _numbers
from sys import modules as _modules

import numpy as _numpy

from millrace._values.tensor_shape import dimension_at_index, dimension_value

v1 = _modules["millrace"]


def as_bytes(text, encoding="utf-8"):
    """bytes of bytes or str. TypeError for anything else."""
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {text!r}")


def as_text(text, encoding="utf-8"):
    """str of bytes or str. TypeError for anything else."""
    if isinstance(text, str):
        return text
    if isinstance(text, bytes):
        return text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {text!r}")


as_str = as_text
as_str_any = str

bytes_or_text_types = (bytes, str)
complex_types = (_numbers.Complex, _numpy.number)
integral_types = (_numbers.Integral, _numpy.integer)
real_types = (_numbers.Real, _numpy.integer, _numpy.floating)


def path_to_str(path):
    """The text of a path as os.PathLike has it; anything else as it is."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


# Graphs are read and written as one TensorFlow does: nothing waits for readers to learn it.
_HORIZON = [_datetime.date.max]


def forward_compatible(year, month, day):
    """Whether readers of graphs are known that are no older than a date: yes, but in a horizon.

    Args:
      year, month, day: the date; an horizon that was set must lie after it.
    """
    return _HORIZON[-1] > _datetime.date(year, month, day)


@_contextlib.contextmanager
def forward_compatibility_horizon(year, month, day):
    """A `with` block in which forward_compatible compares with this date."""
    _HORIZON.append(_datetime.date(year, month, day))
    try:
        yield
    finally:
        _HORIZON.pop()

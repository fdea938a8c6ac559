"""How this program ends, for whoever ends what runs in it."""

import sys

from millrace import _millrace
from millrace._values import errors


def ended_well():
    """True at the end of a program that no error ended, or only that of the end of its input."""
    error = getattr(sys, "last_value", None)
    if isinstance(error, errors.OutOfRangeError):
        return _millrace.tells_end_of_input(error.message)
    return error is None

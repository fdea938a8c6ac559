"""What this program tells whoever started it, above all how it ends (docs/task_record.md).

Only a launcher that asks, by MILLRACE_REPORT_FD or MILLRACE_REPORT_FILE, is told; else `report` is None
and nothing here changes anything.
"""

import atexit
import logging
import os
import sys
import traceback

from millrace import _millrace
from millrace._values import errors


def _open():
    # Taken out of the environment: programs that this one starts are not the task.
    descriptor, file = (os.environ.pop(name, None) for name in _millrace.report_variables)
    try:
        return _millrace.TaskReport.open(descriptor, file)
    except errors.OpError as error:
        logging.getLogger("millrace").warning("%s", error.message)
    return None


def tell_error(kind, error):
    """Tells of the error that ends the program."""
    text = "".join(traceback.format_exception_only(kind, error)).strip()
    if isinstance(error, errors.OpError):
        told = (error.error_code, error.message, error.is_consequence, text)
    elif isinstance(error, MemoryError):
        told = (errors.RESOURCE_EXHAUSTED, text, False, text)
    else:
        told = (errors.OK, "", False, text)
    report.tell_end(*told)


def _tell_and_show(kind, error, where, show=sys.excepthook):
    # First of all: a task that fails may be told to stop before Python has come to its end.
    tell_error(kind, error)
    show(kind, error, where)


report = _open()
if report is not None:
    sys.excepthook = _tell_and_show
    # Without an error before. Does not know the code of sys.exit(): the launcher does.
    atexit.register(report.tell_end, errors.OK, "", False, "")

"""What goes wrong with a file: an error of tf.errors that is one of Python's too, OSError at least."""

import contextlib

from millrace._values import errors


class NotFound(errors.NotFoundError, FileNotFoundError):
    """Nothing is there."""


class AlreadyExists(errors.AlreadyExistsError, FileExistsError):
    """Something is there."""


class PermissionDenied(errors.PermissionDeniedError, PermissionError):
    """Not for who asks."""


class Failed(errors.FailedPreconditionError, OSError):
    """What is there is of another kind, or not as it must be."""


_FOR_PYTHON = [
    (FileNotFoundError, NotFound),
    (FileExistsError, AlreadyExists),
    (PermissionError, PermissionDenied),
]
_FOR_STATUS = {
    errors.NotFoundError: NotFound,
    errors.AlreadyExistsError: AlreadyExists,
    errors.PermissionDeniedError: PermissionDenied,
    errors.FailedPreconditionError: Failed,
}


@contextlib.contextmanager
def as_status(path):
    """What Python says of a file becomes an error of tf.errors that names it."""
    try:
        yield
    except errors.OpError:
        raise
    except OSError as error:
        kind = next((ours for theirs, ours in _FOR_PYTHON if isinstance(error, theirs)), Failed)
        raise kind(None, None, f"{path}; {error.strerror or error}") from None


@contextlib.contextmanager
def as_both():
    """What a store says becomes an error of Python too."""
    try:
        yield
    except errors.OpError as error:
        cls = type(error)
        if cls not in _FOR_STATUS:
            _FOR_STATUS[cls] = type(cls.__name__, (cls, OSError), {"__doc__": cls.__doc__})
        raise _FOR_STATUS[cls](None, None, error.message) from None

"""The errors of running graphs: one class per code, named as in TensorFlow.

Every error has `message`, `error_code` and, where the failing node is known, `op` (an Operation of
the client's graph), `node_def`. Errors of building a graph are Python's own: ValueError, TypeError.
"""

# As users write it in except clauses and find it in tracebacks.
_MODULE = "millrace.errors"

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """Something failed while a graph ran.

    Attributes:
      message: what, where, which values, what to do.
      error_code: the number of the code, as in gRPC.
      op: the Operation that failed; None if it is not known, or not of the client's graph.
      node_def: the failed node; None likewise.
      is_consequence: True if this only reports that something else failed first.
    """

    __module__ = _MODULE

    def __init__(self, node_def, op, message, error_code):
        super().__init__(node_def, op, message, error_code)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        self.is_consequence = False

    @property
    def message(self):
        return self._message

    @property
    def op(self):
        return self._op

    @property
    def node_def(self):
        return self._node_def

    @property
    def error_code(self):
        return self._error_code

    def __reduce__(self):
        # An Operation belongs to a graph of this process: what is pickled does without it.
        return _unpickled, (type(self), self._message, self._error_code)

    def __str__(self):
        if self._op is None:
            return self._message
        place = self._op.defined_at
        where = f", made at {place[0]}:{place[1]}" if place else ""
        return f"{self._message}\n  in op '{self._op.name}' ({self._op.type}){where}"


def _unpickled(cls, message, code):
    if cls is OpError:
        return OpError(None, None, message, code)
    return cls(None, None, message)


def _define(name, code, doc):
    def __init__(self, node_def, op, message):
        OpError.__init__(self, node_def, op, message, code)

    return type(name, (OpError,), {"__init__": __init__, "__doc__": doc, "__module__": _MODULE})


CancelledError = _define(
    "CancelledError", CANCELLED, "The operation was cancelled, by the program or by a closed queue."
)
UnknownError = _define("UnknownError", UNKNOWN, "An error of no known kind.")
InvalidArgumentError = _define(
    "InvalidArgumentError", INVALID_ARGUMENT, "An op was given a value that it cannot work with."
)
DeadlineExceededError = _define(
    "DeadlineExceededError", DEADLINE_EXCEEDED, "The time limit passed before the end."
)
NotFoundError = _define(
    "NotFoundError", NOT_FOUND, "A node, file, device or resource is not there."
)
AlreadyExistsError = _define("AlreadyExistsError", ALREADY_EXISTS, "It exists already.")
PermissionDeniedError = _define("PermissionDeniedError", PERMISSION_DENIED, "It is not allowed.")
ResourceExhaustedError = _define(
    "ResourceExhaustedError",
    RESOURCE_EXHAUSTED,
    "Memory, file handles or another resource ran out.",
)
FailedPreconditionError = _define(
    "FailedPreconditionError",
    FAILED_PRECONDITION,
    "The system is not in the state that the op needs; a variable is not initialized, say.",
)
AbortedError = _define(
    "AbortedError",
    ABORTED,
    "A task restarted or a step was aborted; making a new session may help.",
)
OutOfRangeError = _define(
    "OutOfRangeError", OUT_OF_RANGE, "The input is exhausted: a closed queue is empty, for example."
)
UnimplementedError = _define("UnimplementedError", UNIMPLEMENTED, "There is no such operation.")
InternalError = _define("InternalError", INTERNAL, "A mistake in the runtime itself.")
UnavailableError = _define(
    "UnavailableError", UNAVAILABLE, "A task cannot be reached at the moment."
)
DataLossError = _define("DataLossError", DATA_LOSS, "Data is damaged or lost for good.")
UnauthenticatedError = _define(
    "UnauthenticatedError", UNAUTHENTICATED, "The caller did not say who it is."
)

_CLASSES = {
    CANCELLED: CancelledError,
    UNKNOWN: UnknownError,
    INVALID_ARGUMENT: InvalidArgumentError,
    DEADLINE_EXCEEDED: DeadlineExceededError,
    NOT_FOUND: NotFoundError,
    ALREADY_EXISTS: AlreadyExistsError,
    PERMISSION_DENIED: PermissionDeniedError,
    RESOURCE_EXHAUSTED: ResourceExhaustedError,
    FAILED_PRECONDITION: FailedPreconditionError,
    ABORTED: AbortedError,
    OUT_OF_RANGE: OutOfRangeError,
    UNIMPLEMENTED: UnimplementedError,
    INTERNAL: InternalError,
    UNAVAILABLE: UnavailableError,
    DATA_LOSS: DataLossError,
    UNAUTHENTICATED: UnauthenticatedError,
}


def exception_type_from_error_code(code):
    """The class for the number of a code. KeyError if there is none."""
    return _CLASSES[code]


def error_code_from_exception_type(cls):
    """The number of the code that a class stands for."""
    for code, known in _CLASSES.items():
        if issubclass(cls, known):
            return code
    return UNKNOWN


def make_error(code, message, node_def=None, op=None):
    """The error for a code."""
    cls = _CLASSES.get(code)
    if cls is None:
        return OpError(node_def, op, message, code)
    return cls(node_def, op, message)


def from_status(code, message, is_consequence):
    """What the C++ side raises for a Status; it does not know the client's graph."""
    error = make_error(code, message)
    error.is_consequence = is_consequence
    return error


class raise_exception_on_not_ok_status:
    """Does nothing: errors are raised where they happen. Kept for programs that use it."""

    def __enter__(self):
        return None

    def __exit__(self, *unused):
        return False

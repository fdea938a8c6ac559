"""Errors of running, completed with what only the client knows: its Operation, and what to try."""

import re

from millrace._run import targets
from millrace._values import errors

# "[[{{node x}}]]", as runtimes end their messages; "[[Node: x = ", as old ones did.
_NODE = r"\[\[(?:Node: )?(?:\{\{node )?([^\} ]*)(?:\}\})?\s*=*"

# What a master says whose session knows no device of the job that a node asks for.
_HINT = " This session is local; did you mean Session(server.target)?"


def with_operation(error, graph, is_local=False):
    """The same error with the Operation of `graph` that its message names.

    Args:
      error: an OpError.
      graph: the Graph of the session that failed.
      is_local: True if the session is a cluster of one in this process.
    """
    message = error.message
    if is_local and isinstance(error, errors.InvalidArgumentError):
        message = _with_target(message)
    operation = None
    found = re.search(_NODE, message)
    if found:
        operation = graph.find_operation(found[1])
    if operation is None and message == error.message:
        return error
    node_def = operation.node_def if operation is not None else None
    made = errors.make_error(error.error_code, message, node_def, operation)
    made.is_consequence = error.is_consequence
    return made


def _with_target(message):
    """The message with the target that its hint means, if a server runs in this process."""
    running = targets.running_servers()
    if not running:
        return message
    return message.replace(
        _HINT,
        " This session is local: it knows the devices of this process only. Did you mean "
        f"tf.Session(server.target), {running[0]!r}?",
    )

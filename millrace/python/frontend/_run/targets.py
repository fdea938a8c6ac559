"""Which master a session's target means, and what runs in this process: its servers and sessions."""

import weakref

from millrace import _millrace
from millrace._run import ending
from millrace._values.errors import OpError

# target -> Server that runs in this process. Not weak: a server serves until it is stopped or the
# process ends, also where a program keeps only its target.
_servers = {}
_sessions = weakref.WeakSet()  # that are open


def add_server(target, server):
    """Lets sessions on `target` talk to this Server without a socket."""
    _servers[target] = server


def remove_server(target):
    _servers.pop(target, None)


def running_server(target):
    """The Server of this process at a target; None if there is none."""
    return _servers.get(target)


def running_servers():
    """The targets of the servers of this process."""
    return sorted(_servers)


def add_session(session):
    """Has a session closed when the process ends."""
    _sessions.add(session)


def stop_all():
    """Ends what runs in this process: sessions first, so that their masters can tell the cluster.

    If the program ended well, the other tasks are told so, and none waits for this one any more.
    """
    servers = list(_servers.values())
    calls = [session.close for session in _sessions]
    if ending.ended_well():
        calls += [server.core.end for server in servers]
    calls += [server.stop for server in servers]
    for call in calls:
        try:
            call()
        except OpError:
            pass  # the process ends; there is nobody to tell


def dialled(target):
    """(the target's text, what _millrace takes for it).

    Args:
      target: "" or "local" for this process alone, "grpc://host:port", or a Server.

    Raises:
      TypeError: if it is not a string; ValueError: for a string of another form.
    """
    if isinstance(target, bytes):
        target = target.decode()
    target = getattr(target, "target", target)
    if not isinstance(target, str):
        raise TypeError(f"Target must be a string, but got {target!r}")
    if _millrace.is_this_process(target):
        return "", ""
    server = _servers.get(target)
    if server is not None:
        return target, server.core
    if "://" not in target:
        raise ValueError(
            f"'{target}' is no target: write 'grpc://{target}' for a server, or '' for this process"
        )
    return target, target

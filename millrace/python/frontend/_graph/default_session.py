"""The default session of a thread: what Tensor.eval and Operation.run use."""

import threading


class _Defaults(threading.local):
    """The default sessions of a thread, innermost last."""

    def __init__(self):
        self.stack = []


_defaults = _Defaults()


def push(session):
    """Makes a session the default one of this thread."""
    _defaults.stack.append(session)


def pop(session):
    """Undoes the latest push of a session. False if it is no default."""
    for index in range(len(_defaults.stack) - 1, -1, -1):
        if _defaults.stack[index] is session:
            del _defaults.stack[index]
            return True
    return False


class Scope:
    """A session as the default one inside a `with` block."""

    def __init__(self, session):
        self._session = session

    def __enter__(self):
        push(self._session)
        return self._session

    def __exit__(self, *unused):
        pop(self._session)


def get_default_session():
    """The innermost default session of this thread, or None."""
    return _defaults.stack[-1] if _defaults.stack else None


def session_or_default(session, graph, what):
    """`session`, or the default one. ValueError if there is none, or if it runs another graph."""
    if session is None:
        session = get_default_session()
    if session is None:
        raise ValueError(
            f"Cannot use {what}: No default session is registered. Use `with sess.as_default()` or "
            "pass an explicit session."
        )
    if session.graph is not graph:
        raise ValueError(f"Cannot use {what}: the session runs another graph.")
    return session

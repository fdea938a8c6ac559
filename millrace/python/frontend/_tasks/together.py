"""Calls that belong together: one after the other, side by side, and side by side with one that follows all."""

from millrace._tasks import results


class Chain:
    """Calls one after the other: each is given the value of the one before as its first argument.

    If one ends without a value, so do those behind it, and say why.

    Args:
      signatures: of one App, at least one.
    """

    def __init__(self, *signatures):
        self._signatures = _some(signatures, "chain")

    @property
    def app(self):
        """The App of the first one."""
        return self._signatures[0].app

    def call(self, **options):
        """The first Call, with the others behind it. Options are of the first."""
        first, *rest = self._signatures
        return first.call(**options).but(then=[each.call() for each in rest])

    def send(self, **options):
        """Sends it; the Result of the last one."""
        call = self.call(**options)
        return self.app.send_calls([call], [last_id(call)])[0]

    def get(self, timeout=results.PATIENCE):
        """Sends it, and waits for the value of the last one."""
        return self.send().get(timeout)


class Group:
    """Calls side by side.

    Args:
      signatures: Signatures or Chains, of one App; also a single list or iterator of them.
    """

    def __init__(self, *signatures):
        if len(signatures) == 1 and not hasattr(signatures[0], "call"):
            signatures = tuple(signatures[0])
        self._members = _some(signatures, "group")

    def calls(self):
        """The Calls, chains with all that follows."""
        return [each.call() for each in self._members]

    def send(self):
        """Sends all in one step; their GroupResult."""
        sent = self.calls()
        return results.GroupResult(self.app.send_calls(sent, [last_id(each) for each in sent]))

    def get(self, timeout=results.PATIENCE):
        """Sends all, and waits for the list of their values."""
        return self.send().get(timeout)

    @property
    def app(self):
        """The App of the first one."""
        return self._members[0].app


class Chord:
    """A Group, and a call that is given the list of its values when all have ended.

    If one ends without a value, so does the call.

    Args:
      group: a Group, or signatures for one.
      last: a Signature.
    """

    def __init__(self, group, last):
        self._group = group if isinstance(group, Group) else Group(group)
        self._last = last

    def send(self):
        """Sends all in one step; the Result of the last call."""
        sent = self._group.calls()
        last = self._last.call().but(gathers=[last_id(each) for each in sent])
        return self._last.app.send_calls([*sent, last], [last.id])[0]

    def get(self, timeout=results.PATIENCE):
        """Sends all, and waits for the value of the last call."""
        return self.send().get(timeout)


def last_id(call):
    """The id of the last call of a chain."""
    return [call, *call.then][-1].id


def _some(signatures, what):
    if not signatures:
        raise ValueError(f"a {what} of no calls: give at least one")
    return signatures

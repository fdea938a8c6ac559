"""What becomes of a call that a worker has taken, before it is run and after: values in, values out."""

import dataclasses
import json
import re

from millrace._tasks import calls, errors

_FORGOTTEN = "it was forgotten"
_LARGE = 1 << 16  # bytes: such a result is fetched alone, and only when it is asked for
# How the states of nearly all calls begin that have not ended (Call.state). They need not be read to see that.
_WAITS = b'{"state": "WAITING"'
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclasses.dataclass
class Settlement:
    """All that the broker is told of a call in one step, in this order.

    Attributes:
      fresh: {id: state} of calls that begin to wait.
      waiting, later: the Calls that begin to: to be run, or not before their eta.
      ended: id of the call, if it has ended; 0 if it has not.
      result, state: texts that are kept of one that has.
      gone: id of the call, if no worker has it any more; 0 otherwise.
    """

    fresh: dict = dataclasses.field(default_factory=dict)
    waiting: list = dataclasses.field(default_factory=list)
    later: list = dataclasses.field(default_factory=list)
    ended: int = 0
    result: bytes = b""
    state: bytes = b""
    gone: int = 0

    def but(self, **changes):
        """The same with other attributes."""
        return dataclasses.replace(self, **changes)


def read_state(text):
    """What a state of the broker's table says, a dict; {} of none."""
    return json.loads(text) if text else {}


def has_ended(state):
    return state.get("state") in calls.ENDED


def text_has_ended(text):
    """Whether a state's text tells of a call that has ended."""
    return not text.startswith(_WAITS) and has_ended(read_state(text))


def is_small_end(text):
    """The same, of a call with a result that is not large."""
    return not text.startswith(_WAITS) and _is_small_end(read_state(text))


def _is_small_end(state):
    return has_ended(state) and "size" not in state


def why_not(call, attempt, most_attempts, is_revoked, now):
    """(state, message) of a call that is not to be run at all; None if it is."""
    if is_revoked:
        return calls.REVOKED, "it was revoked before it was run"
    if call.cause:
        return calls.FAILURE, call.cause
    if attempt > most_attempts:
        return calls.DEAD, (
            f"{most_attempts} workers that had it died, lost their connection or were stopped; look what "
            "it does to them before it is sent again"
        )
    if call.expires and now > call.expires:
        return calls.EXPIRED, f"it waited {now - call.expires:.1f} s longer than it may"
    return None


def pause_before(retry, first, longest, call_id):
    """Seconds before a retry, from 0: each twice the one before, and up to a fifth more, by the call."""
    spread = (call_id ^ (retry * 0x9E3779B97F4A7C15)) % 1000 / 5000
    return min(longest, first * 2.0 ** min(retry, 60)) * (1.0 + spread)


def succeeded(call, value, now, worker):
    """The Settlement of a call that returned a packed value."""
    text = json.dumps({"state": calls.SUCCESS, "name": call.name, "value": value})
    settled = _ended(call, calls.SUCCESS, text, now, worker)
    if call.then:
        following, *rest = call.then
        args = [value, *following.args] if following.takes_value else following.args
        queue = settled.later if following.eta > now else settled.waiting
        queue.append(following.but(args=args, then=rest))
    return settled


def failed(call, state, message, now, worker, traceback=""):
    """The Settlement of a call that ended without a value; those behind it in a chain end likewise."""
    told = {"state": state, "name": call.name, "message": message, "traceback": traceback}
    settled = _ended(call, state, json.dumps(told), now, worker, message=message[:500])
    if call.then:
        following, *rest = call.then
        cause = f"call {calls.shown_id(call.id)} of '{call.name}' before it: {message}"
        settled.waiting.append(following.but(cause=call.cause or cause, then=rest))
    return settled


def _ended(call, state, text, now, worker, **more):
    if len(text) > _LARGE:
        more["size"] = len(text)
    told = call.state(state, now, worker=worker, **more)
    return Settlement(ended=call.id, result=text.encode(), state=told, gone=call.id)


def retried(call, message, pause, now):
    """The Settlement of a call that is to be run again after a pause."""
    eta = min(now + pause, calls.LATEST)
    again = call.but(retries=call.retries + 1, eta=eta, is_admitted=False)
    told = again.state(calls.RETRY, now, message=message[:500])
    return Settlement(fresh={call.id: told}, later=[again], gone=call.id)


def put_off(call, eta, is_admitted):
    """The Settlement of a call that its task's rate lets run at eta."""
    return Settlement(later=[call.but(eta=eta, is_admitted=is_admitted)], gone=call.id)


def due(call, now, fresh_id):
    """The Settlement of a call whose eta has come: it is run, and what is periodic comes again."""
    if call.period is None:
        return Settlement(waiting=[call.but(eta=0.0)])
    seconds = call.period[2]
    now_run = call.but(id=fresh_id, eta=0.0, period=None, sent=now)
    missed = max(0, int((now - call.eta) // seconds))
    following = call.but(eta=call.eta + (missed + 1) * seconds)
    fresh = {fresh_id: now_run.state(calls.WAITING, now)}
    return Settlement(fresh=fresh, waiting=[now_run], later=[following])


def gathered(call, states, value_of, now):
    """The Settlement of a call whose first argument are the values of others.

    Args:
      states: of the others, in order; {} of one that is not known.
      value_of: gives the packed value of one that succeeded, by its id; raises NoResult if it is gone.
    """
    for number, state in zip(call.gathers, states):
        if not state or has_ended(state) and state["state"] != calls.SUCCESS:
            return _lacking(call, number, state.get("message", "") if state else _FORGOTTEN)
    if not all(map(has_ended, states)):
        # Asked again after a tenth of the time that it has taken so far.
        pause = min(1.0, max(0.02, (now - call.sent) / 10))
        return Settlement(later=[call.but(eta=now + pause)])
    found = []
    for number in call.gathers:
        try:
            found.append(value_of(number))
        except errors.NoResult:
            return _lacking(call, number, _FORGOTTEN)
    return Settlement(waiting=[call.but(args=[found, *call.args], gathers=[], eta=0.0)])


def _lacking(call, number, why):
    cause = f"call {calls.shown_id(number)}, whose value it needs: {why}"
    return Settlement(waiting=[call.but(gathers=[], cause=cause)])


def read_rate(rate):
    """Seconds between two calls of "10/s", "600/m", "1000/h" or a number per second; 0 for no limit.

    Raises:
      ValueError: for anything else.
    """
    if rate is None:
        return 0.0
    found = re.fullmatch(r"([0-9.]+)/([smh])", rate) if isinstance(rate, str) else None
    try:
        per_second = float(found[1]) / _UNITS[found[2]] if found else float(rate)
    except (TypeError, ValueError):
        per_second = 0.0
    if not 0 < per_second < 1e9:
        raise ValueError(f"rate is {rate!r}; give calls per second, or '10/s', '600/m', '1000/h'")
    return 1.0 / per_second


class Rate:
    """Gives out moments that are at least so many seconds apart. One thread at a time."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._next = 0.0

    def moment(self, now):
        """When the one who asks may begin."""
        given = max(now, self._next)
        self._next = given + self._seconds
        return given

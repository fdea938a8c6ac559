"""A call: which function is to be run, with what, when, and what comes after it. As text, it travels."""

import dataclasses
import json

WAITING, RETRY = "WAITING", "RETRY"
SUCCESS, FAILURE, DEAD, EXPIRED, REVOKED = "SUCCESS", "FAILURE", "DEAD", "EXPIRED", "REVOKED"
ENDED = frozenset([SUCCESS, FAILURE, DEAD, EXPIRED, REVOKED])
# STARTED is nowhere written as the state of a call: it is one that waits and that a worker has.
STARTED = "STARTED"
STATES = (WAITING, STARTED, RETRY, SUCCESS, FAILURE, DEAD, EXPIRED, REVOKED)

LATEST = 9e12  # seconds since 1970: the last moment that can be waited for
_LARGEST_ID = _LARGEST_PRIORITY = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of a task, as it waits on the broker.

    Attributes:
      id: of the call, 1 to 2**63 - 1; people see it as 16 hexadecimal digits.
      name: of the task.
      args, kwargs: packed values (values.py).
      priority: the larger goes first.
      sent: when it was sent, in seconds since 1970, as are all times here.
      eta: not to be run before; 0 for at once.
      expires: not to be begun after; 0 for never.
      retries: how often it was tried again after an error.
      then: the Calls that follow one after the other, each with the value of the one before.
      gathers: ids of calls whose values, a list, are its first argument.
      takes_value: whether it is given what the call before it in a chain returned.
      cause: why it can't be run any more, if a call before it has failed.
      code: the function itself, if it travels (code.py); else "".
      is_admitted: whether its task's rate has let it pass.
      period: (name, number, seconds) of what it is repeated by; None if it is not.
    """

    id: int
    name: str
    args: list = dataclasses.field(default_factory=list)
    kwargs: dict = dataclasses.field(default_factory=dict)
    priority: int = 0
    sent: float = 0.0
    eta: float = 0.0
    expires: float = 0.0
    retries: int = 0
    then: list = dataclasses.field(default_factory=list)
    gathers: list = dataclasses.field(default_factory=list)
    takes_value: bool = True
    cause: str = ""
    code: str = ""
    is_admitted: bool = False
    period: tuple = None

    def text(self):
        """As bytes. What stands at its default is left out."""
        return json.dumps(_fields(self), separators=(",", ":")).encode()

    def but(self, **changes):
        """The same call with other attributes."""
        return dataclasses.replace(self, **changes)

    def state(self, state, now, **more):
        """What the broker's table says of the call when it comes into a state."""
        told = {"state": state, "name": self.name, "at": now, "sent": self.sent, **more}
        if self.priority:
            told["priority"] = self.priority
        if self.eta:
            told["eta"] = self.eta
        if self.retries:
            told["retries"] = self.retries
        return json.dumps(told).encode()


_TYPES = {field.name: field for field in dataclasses.fields(Call)}


def _fields(call):
    told = {}
    for name, field in _TYPES.items():
        value = getattr(call, name)
        if name == "then":
            value = [_fields(each) for each in value]
        has_default = field.default is not dataclasses.MISSING
        empty = field.default if has_default else None
        if value != empty and value not in ([], {}):
            told[name] = value
    return told


def read_call(text):
    """The Call of a text.

    Raises:
      ValueError: if it is none, and says why.
    """
    try:
        return _call(json.loads(text))
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no call: {error!r}") from None


def _call(told):
    if not isinstance(told, dict) or not told.keys() <= _TYPES.keys():
        raise ValueError(f"no call, but {str(told)[:100]}")
    call = Call(**{**told, "then": [_call(each) for each in told.get("then", ())]})
    for name in ("id", "name", "args", "kwargs", "then", "gathers", "cause", "code"):
        wanted = {"id": int, "args": list, "kwargs": dict, "then": list, "gathers": list}.get(
            name, str
        )
        if type(getattr(call, name)) is not wanted:
            raise ValueError(f"{name} of a call is {getattr(call, name)!r}")
    for name in ("priority", "sent", "eta", "expires", "retries"):
        wanted = (int,) if name in ("priority", "retries") else (int, float)
        if type(getattr(call, name)) not in wanted:
            raise ValueError(f"{name} of a call is {getattr(call, name)!r}")
    if any(type(each) is not int for each in call.gathers):
        raise ValueError(f"gathers of a call is {call.gathers!r}")
    if call.period is not None and [type(each) for each in call.period] != [str, int, float]:
        raise ValueError(f"period of a call is {call.period!r}")
    if call.period is not None and not 0 < call.period[2] <= LATEST:
        raise ValueError(f"period of a call is {call.period!r}")
    check_id(call.id)
    check_order(call)
    return call


def check_order(call):
    """ValueError unless a call's priority and eta are such as its queue can have."""
    if abs(call.priority) > _LARGEST_PRIORITY:
        raise ValueError(
            f"priority of '{call.name}' is {call.priority}; give at most {_LARGEST_PRIORITY}, either way"
        )
    if not abs(call.eta) <= LATEST:
        raise ValueError(
            f"eta of '{call.name}' is {call.eta!r}; give seconds since 1970, at most {LATEST:g}"
        )


def check_id(number):
    """ValueError unless a number can be a call's id."""
    if not 0 < number <= _LARGEST_ID:
        raise ValueError(f"{number} is no id of a call: those are 1 to {_LARGEST_ID}")


def shown_id(number):
    """An id as people see it."""
    return f"{number:016x}"


def read_id(text):
    """The id of what people see.

    Raises:
      ValueError: if it is none.
    """
    try:
        number = int(text, 16)
    except ValueError:
        raise ValueError(f"'{text}' is no id of a call: those have 16 hexadecimal digits") from None
    check_id(number)
    return number

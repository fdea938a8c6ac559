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
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_LARGEST_ID = _LARGEST_PRIORITY = 2**63 - 1


# Nobody changes one: `but` makes another. Not frozen, which costs more than all else that is done to make one.
@dataclasses.dataclass(slots=True)
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
        return _encode(_fields(self)).encode()

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


_FIELDS = [field.name for field in dataclasses.fields(Call)]
_TYPES = {
    "id": (int,),
    "name": (str,),
    "args": (list,),
    "kwargs": (dict,),
    "priority": (int,),
    "sent": (int, float),
    "eta": (int, float),
    "expires": (int, float),
    "retries": (int,),
    "then": (list,),
    "gathers": (list,),
    "takes_value": (bool,),
    "cause": (str,),
    "code": (str,),
    "is_admitted": (bool,),
    "period": (list, type(None)),
}


def _fields(call):
    told = {"id": call.id, "name": call.name}
    for name in _FIELDS[2:]:
        # All defaults but one are empty.
        value = getattr(call, name)
        if value and value is not True:
            told[name] = value
    if call.then:
        told["then"] = [_fields(each) for each in call.then]
    if not call.takes_value:
        told["takes_value"] = False
    if call.is_admitted:
        told["is_admitted"] = True
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
    if not isinstance(told, dict):
        raise ValueError(f"no call, but {str(told)[:100]}")
    for name, value in told.items():
        if name not in _TYPES:
            raise ValueError(f"no call, but {str(told)[:100]}")
        if type(value) not in _TYPES[name]:
            raise ValueError(f"{name} of a call is {value!r}")
    if "then" in told:
        told["then"] = [_call(each) for each in told["then"]]
    call = Call(**told)
    if any(type(each) is not int for each in call.gathers):
        raise ValueError(f"gathers of a call is {call.gathers!r}")
    if call.period is not None:
        _check_period(call.period)
    check_id(call.id)
    check_order(call)
    return call


def _check_period(period):
    if [type(each) for each in period] != [str, int, float] or not 0 < period[2] <= LATEST:
        raise ValueError(f"period of a call is {period!r}")


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

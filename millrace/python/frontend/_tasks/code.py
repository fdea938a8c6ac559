"""Functions that travel as code. Whoever can put such a call on a broker can do anything that its workers
can: so workers run none unless their App was made with runs_code=True."""

import base64
import builtins
import marshal
import sys
import types

_VERSION = "{}.{}".format(*sys.version_info)


def packed_code(function):
    """A function as text.

    Raises:
      TypeError: for what is no plain function, or uses variables of a function around it.
    """
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"only functions written in Python travel as code, not {function!r}")
    if function.__closure__:
        names = ", ".join(function.__code__.co_freevars)
        raise TypeError(
            f"{function.__name__} uses {names} of the function around it; pass it as an argument"
        )
    data = marshal.dumps((function.__code__, function.__defaults__, function.__kwdefaults__))
    return f"{_VERSION}:{base64.b64encode(data).decode('ascii')}"


def unpacked_code(text):
    """The function of a text. Its globals are the builtins alone: it imports what it needs.

    Raises:
      ValueError: if another version of Python wrote it, or it is no function.
    """
    version, _, data = text.partition(":")
    if version != _VERSION:
        raise ValueError(f"the function comes from Python {version[:20]}, and this is {_VERSION}")
    try:
        code, defaults, keyword_defaults = marshal.loads(base64.b64decode(data, validate=True))
        own = {"__builtins__": builtins, "__name__": "code_of_a_call"}
        function = types.FunctionType(code, own, code.co_name, defaults)
        function.__kwdefaults__ = keyword_defaults
        return function
    except (ValueError, TypeError, EOFError, AttributeError) as error:
        raise ValueError(f"what came is no function: {error}") from None

"""Decorators that say, once for each function or argument, that it is on its way out."""

import functools
import inspect
import logging

_log = logging.getLogger("millrace")
_told = set()


def _tell(function, what, date, instructions):
    when = "in a future version" if date is None else f"after {date}"
    _log.warning(
        "%s (from %s) is deprecated and will be removed %s. Instructions for updating: %s",
        what,
        function.__module__,
        when,
        instructions,
    )


def deprecated(date, instructions, warn_once=True):
    """Decorates a function that is on its way out: its calls are told in the log.

    Args:
      date: when it goes, "2026-01-31"; None if that is not known.
      instructions: what to do instead.
      warn_once: False to tell each call.
    """

    def decorate(function):
        name = function.__qualname__

        @functools.wraps(function)
        def telling(*args, **kwargs):
            if not warn_once or telling not in _told:
                _told.add(telling)
                _tell(function, name, date, instructions)
            return function(*args, **kwargs)

        return telling

    return decorate


def deprecated_args(date, instructions, *deprecated_arg_names_or_tuples, **kwargs):
    """Decorates a function with arguments that are on their way out: calls that give one are told.

    Args:
      date, instructions: as for deprecated.
      *deprecated_arg_names_or_tuples: names, or pairs of a name and the value that is not told.
      warn_once: (by keyword) False to tell each call.

    Raises:
      ValueError: without names, or (when it decorates) for a name that is no argument.
    """
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    warn_once = kwargs.pop("warn_once", True)
    pairs = [
        each if isinstance(each, tuple) else (each,) for each in deprecated_arg_names_or_tuples
    ]

    def is_told(name, value):
        return all(len(pair) == 1 or value != pair[1] for pair in pairs if pair[0] == name)

    names = {pair[0] for pair in pairs}
    return _telling_arguments(date, instructions, names, is_told, warn_once)


def deprecated_arg_values(date, instructions, warn_once=True, **deprecated_kwargs):
    """Decorates a function with values of arguments that are on their way out.

    Args:
      date, instructions, warn_once: as for deprecated.
      **deprecated_kwargs: the values, by the names of arguments.

    Raises:
      ValueError: without names, or (when it decorates) for a name that is no argument.
    """
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def is_told(name, value):
        return value is deprecated_kwargs[name] or value == deprecated_kwargs[name]

    return _telling_arguments(date, instructions, set(deprecated_kwargs), is_told, warn_once)


def _telling_arguments(date, instructions, names, is_told, warn_once):
    def decorate(function):
        signature = inspect.signature(function)
        has_any = any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values())
        missing = sorted(names - signature.parameters.keys())
        if missing and not has_any:
            raise ValueError(
                f"The following deprecated arguments are not present in the signature of "
                f"{function.__qualname__}: {missing}"
            )

        @functools.wraps(function)
        def telling(*args, **kwargs):
            given = signature.bind(*args, **kwargs).arguments
            for name in sorted(names & given.keys()):
                key = (telling, name)
                if is_told(name, given[name]) and not (warn_once and key in _told):
                    _told.add(key)
                    what = f"calling {function.__qualname__} with {name}={given[name]!r}"
                    _tell(function, what, date, instructions)
            return function(*args, **kwargs)

        return telling

    return decorate

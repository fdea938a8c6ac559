"""arg_scope: arguments that functions have by default inside a with block."""

import contextlib
import functools
import inspect
import threading

_current = threading.local()


def _stack():
    if not hasattr(_current, "scopes"):
        _current.scopes = [{}]
    return _current.scopes


def _key(function):
    return getattr(function, "arg_scope_key", (getattr(function, "__module__", ""), str(function)))


def current_arg_scope():
    """The arguments of the innermost arg_scope, by function: what `arg_scope` takes again."""
    return _stack()[-1]


def has_arg_scope(func):
    """Whether `func` was decorated by add_arg_scope."""
    return hasattr(func, "arg_scope_key")


def add_arg_scope(func):
    """Decorates a function: arg_scope can then set its keyword arguments."""

    @functools.wraps(func)
    def with_defaults(*args, **kwargs):
        defaults = current_arg_scope().get(_key(with_defaults))
        if defaults:
            kwargs = {**defaults, **kwargs}
        return func(*args, **kwargs)

    with_defaults.arg_scope_key = (func.__module__, func.__qualname__)
    with_defaults.arg_scoped_names = _settable(func)
    return with_defaults


def _settable(func):
    """The names of a function's arguments that have defaults, or go by keyword alone."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except ValueError:  # a function of C that does not say
        return ()
    by_keyword, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return tuple(
        each.name
        for each in parameters
        if each.kind == by_keyword or each.kind == either and each.default is not each.empty
    )


def arg_scoped_arguments(func):
    """The names of the arguments of a decorated function that arg_scope can set."""
    if not has_arg_scope(func):
        raise ValueError(f"{func!r} is not decorated with @add_arg_scope")
    return func.arg_scoped_names


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """A context in which functions have these keyword arguments unless they are called with others.

    Args:
      list_ops_or_scope: functions that were decorated by add_arg_scope; or what an earlier
        arg_scope gave, to enter it again.
      **kwargs: the arguments. What functions have from outer scopes stays, if it is not set here.

    Yields:
      the arguments by function.

    Raises:
      TypeError: if it is neither a list nor a scope; ValueError: if a function is not decorated, or
        a scope is entered again with arguments.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling a dictionary, kwargs must be empty."
            )
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, (list, tuple)):
        scope = dict(current_arg_scope())
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise ValueError(f"{function!r} is not decorated with @add_arg_scope")
            scope[_key(function)] = {**scope.get(_key(function), {}), **kwargs}
    else:
        raise TypeError(
            "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), not "
            f"{list_ops_or_scope!r}"
        )
    _stack().append(scope)
    try:
        yield scope
    finally:
        _stack().pop()

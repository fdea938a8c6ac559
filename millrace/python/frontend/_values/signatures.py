"""What functions take."""

import functools
import inspect


def fn_args(fn):
    """The names of a function's arguments, a tuple: without the object of a method, and without those that
    a functools.partial gives by name.

    Args:
      fn: a function, a method, an object that can be called, or a partial of one.

    Raises:
      ValueError: if a partial gives more arguments than there are.
    """
    if isinstance(fn, functools.partial):
        names = [name for name in fn_args(fn.func) if name not in (fn.keywords or {})]
        if len(fn.args) > len(names):
            raise ValueError(f"{fn.func} takes {names}, but is given {len(fn.args)} of them")
        return tuple(names[len(fn.args) :])
    while hasattr(fn, "__wrapped__"):
        fn = fn.__wrapped__
    is_object = hasattr(fn, "__call__") and not inspect.isroutine(fn) and not inspect.isclass(fn)
    code = inspect.getfullargspec(fn.__call__ if is_object else fn)
    names = code.args
    if is_object or inspect.ismethod(fn) or inspect.isclass(fn):
        names = names[1:]
    return tuple(names)

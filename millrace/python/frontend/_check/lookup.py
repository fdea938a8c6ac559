"""Whether something of TensorFlow's is here, and takes the arguments that a program gives it."""

import ast
import importlib
import inspect
import sys
import types

_PACKAGE = __name__.partition(".")[0]


def first_missing(path):
    """The part of a path up to the first name that is not here; None if all of it is.

    Only modules and classes are looked into: what an object has is known when it is there.
    """
    held, so_far = sys.modules[_PACKAGE], []
    for name in path.split("."):
        so_far.append(name)
        below = _below(held, name, ".".join(so_far))
        if below is None:
            return ".".join(so_far)
        held = below[0]
        if not isinstance(held, (types.ModuleType, type)):
            return None
    return None


def _below(held, name, path):
    """(what an object has under a name,), or None."""
    try:
        return (getattr(held, name),)
    except AttributeError:
        pass
    if not isinstance(held, types.ModuleType):
        return None
    try:
        return (importlib.import_module(f"{_PACKAGE}.{path}"),)
    except ImportError:
        return None


def found(path):
    """What is here at a path of which nothing is missing; None if it is inside some object."""
    held = sys.modules[_PACKAGE]
    so_far = []
    for name in path.split("."):
        so_far.append(name)
        if not isinstance(held, (types.ModuleType, type)):
            return None
        held = _below(held, name, ".".join(so_far))[0]
    return held


def misfit(function, call):
    """Why a function does not take the arguments of an ast.Call; None if it does, or nobody knows."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*call.args, **{keyword.arg: keyword.value for keyword in call.keywords})
    except TypeError as error:
        return str(error)
    return None

"""One function per op, written from the op registry by the build: a module per room of ops, which is loaded
when one of its functions is used for the first time."""

from importlib import import_module as _import_module

from millrace._gen.index import FUNCTIONS, OPS


def __getattr__(name):
    module = FUNCTIONS.get(name)
    if module is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    function = getattr(_import_module(f"{__name__}.{module}"), name)
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *FUNCTIONS})


def by_op(op):
    """The function of an op that is among OPS."""
    return _import_module(f"{__name__}.{OPS[op]}").BY_OP[op]

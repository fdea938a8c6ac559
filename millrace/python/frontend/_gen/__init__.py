"""One function per op, written from the op registry by the build: all modules of them together."""

from millrace._gen import ops
from millrace._gen.ops import *

_MODULES = (ops,)
BY_OP = {op: function for module in _MODULES for op, function in module.BY_OP.items()}
__all__ = [name for module in _MODULES for name in module.__all__]

"""One function per op, written from the op registry by the build: all modules of them together."""

from millrace._gen import ops
from millrace._gen.ops import *

BY_OP = ops.BY_OP
__all__ = ops.__all__

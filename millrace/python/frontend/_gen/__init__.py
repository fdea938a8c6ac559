"""One function per op, written from the op registry by the build: a module per room of ops, all in one."""

from millrace._gen.ops import *
from millrace._gen.ops import BY_OP, __all__

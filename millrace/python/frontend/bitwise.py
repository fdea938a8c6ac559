"""tf.bitwise: what is computed of the bits of integers."""

from millrace._gen import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    right_shift,
)

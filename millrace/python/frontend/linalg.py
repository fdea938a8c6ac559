"""tf.linalg: what is computed of matrices."""

from millrace._ops.arrays import matrix_transpose as transpose
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.shaped import eye

"""tf.linalg: what is computed of matrices."""

from millrace._gen import cross
from millrace._gen import matrix_band_part as band_part
from millrace._ops.arrays import matrix_transpose
from millrace._ops.arrays import matrix_transpose as transpose
from millrace._ops.clipping import global_norm
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.matrices import adjoint, einsum
from millrace._ops.matrices import matrix_diag as diag
from millrace._ops.matrices import matrix_diag_part as diag_part
from millrace._ops.matrices import matrix_set_diag as set_diag
from millrace._ops.matrices import norm, tensor_diag, tensor_diag_part, trace
from millrace._ops.normalization import l2_normalize
from millrace._ops.shaped import eye

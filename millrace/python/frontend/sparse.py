"""tf.sparse: sparse tensors and what is done with them."""

from millrace._flow.sparse_shapes import sparse_reset_shape as reset_shape
from millrace._graph.sparse_tensor import SparseTensor
from millrace._ops.segments import sparse_segment_mean as segment_mean
from millrace._ops.segments import sparse_segment_sqrt_n as segment_sqrt_n
from millrace._ops.segments import sparse_segment_sum as segment_sum
from millrace._ops.sparse import sparse_mask as mask
from millrace._ops.sparse import sparse_placeholder as placeholder
from millrace._ops.sparse import sparse_tensor_to_dense as to_dense
from millrace._ops.sparse import sparse_to_indicator as to_indicator
from millrace._ops.sparse_arithmetic import sparse_add as add
from millrace._ops.sparse_arithmetic import sparse_map_values as map_values
from millrace._ops.sparse_arithmetic import sparse_maximum as maximum
from millrace._ops.sparse_arithmetic import sparse_minimum as minimum
from millrace._ops.sparse_arithmetic import sparse_reduce_max as reduce_max
from millrace._ops.sparse_arithmetic import sparse_reduce_max_sparse as reduce_max_sparse
from millrace._ops.sparse_arithmetic import sparse_reduce_sum as reduce_sum
from millrace._ops.sparse_arithmetic import sparse_reduce_sum_sparse as reduce_sum_sparse
from millrace._ops.sparse_arithmetic import sparse_softmax as softmax
from millrace._ops.sparse_arithmetic import sparse_tensor_dense_matmul as matmul
from millrace._ops.sparse_crosses import sparse_cross as cross
from millrace._ops.sparse_crosses import sparse_cross_hashed as cross_hashed
from millrace._ops.sparse_layout import sparse_concat as concat
from millrace._ops.sparse_layout import sparse_expand_dims as expand_dims
from millrace._ops.sparse_layout import sparse_eye as eye
from millrace._ops.sparse_layout import sparse_fill_empty_rows as fill_empty_rows
from millrace._ops.sparse_layout import sparse_from_dense as from_dense
from millrace._ops.sparse_layout import sparse_merge as merge
from millrace._ops.sparse_layout import sparse_reorder as reorder
from millrace._ops.sparse_layout import sparse_reshape as reshape
from millrace._ops.sparse_layout import sparse_retain as retain
from millrace._ops.sparse_layout import sparse_slice as slice
from millrace._ops.sparse_layout import sparse_split as split
from millrace._ops.sparse_layout import sparse_transpose as transpose
from millrace._state.accumulators import SparseConditionalAccumulator

sparse_dense_matmul = matmul

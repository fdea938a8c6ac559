"""tf.manip: the elements of tensors in other places."""

from millrace._gen import batch_to_space_nd, roll, scatter_nd, space_to_batch_nd
from millrace._ops.arrays import reshape, reverse, tile
from millrace._ops.rearranging import gather_nd

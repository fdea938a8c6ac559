"""tf.ragged: ragged tensors and what is done with them."""

from millrace._ragged.elementwise import map_flat_values
from millrace._ragged.gathers import boolean_mask, stack_dynamic_partitions
from millrace._ragged.joining import stack
from millrace._ragged.making import constant, constant_value, placeholder, range
from millrace._ragged.partitions import row_splits_to_segment_ids, segment_ids_to_row_splits
from millrace._ragged.ready import RaggedTensorValue

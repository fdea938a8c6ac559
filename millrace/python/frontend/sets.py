"""tf.sets: rows of tensors as sets."""

from millrace._ops.sets import set_difference, set_intersection, set_size, set_union

difference = set_difference
intersection = set_intersection
size = set_size
union = set_union

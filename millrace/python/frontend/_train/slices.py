"""Gradients of some rows of a variable, with repeated rows summed."""

from millrace import _gen as gen_ops
from millrace._ops.arrays import boolean_mask


def summed_by_index(values, indices):
    """(values, indices) with each index once: rows of an index that came several times are summed.

    An optimizer's rule squares gradients or keeps momentum: two halves of a row's gradient, one
    after the other, would not be the row's gradient.
    """
    in_order, places = gen_ops.top_kv2(indices, gen_ops.size(indices))
    before = gen_ops.concat_v2([in_order[:1] - 1, in_order[:-1]], 0)
    is_first = gen_ops.not_equal(in_order, before)
    segments = gen_ops.cumsum(gen_ops.cast(is_first, DstT="int32"), 0) - 1
    unique = boolean_mask(in_order, is_first)
    rows = gen_ops.gather_v2(values, places, 0)
    return gen_ops.unsorted_segment_sum(rows, segments, gen_ops.size(unique)), unique

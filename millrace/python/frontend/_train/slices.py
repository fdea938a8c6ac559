"""Gradients of some rows of a variable, with repeated rows summed."""

from millrace import _gen as gen_ops
from millrace._graph.node_counts import count_more


def summed_by_index(values, indices):
    """(values, indices) with each index once: rows of an index that came several times are summed.

    An optimizer's rule squares gradients or keeps momentum: two halves of a row's gradient, one
    after the other, would not be the row's gradient.
    """
    unique, segments = gen_ops.unique(indices)
    count_more(4)  # TensorFlow takes the number of rows from a shape
    return gen_ops.unsorted_segment_sum(values, segments, gen_ops.size(unique)), unique

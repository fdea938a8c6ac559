"""The area under a curve from two histograms: tf.contrib.metrics.auc_using_histogram."""

from millrace._flow.control_flow import Assert, group
from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._measures.ranks import remove_squeezable_dimensions
from millrace._ops.arithmetic import cast, cumsum
from millrace._ops.arrays import boolean_mask, pad, rank, reverse
from millrace._ops.reductions import reduce_sum
from millrace._ops.segments import histogram_fixed_width
from millrace._state.initializers import Zeros
from millrace._state.named_variables import get_variable, variable_scope
from millrace._values import dtypes


def auc_using_histogram(
    boolean_labels,
    scores,
    score_range,
    nbins=100,
    collections=None,
    check_shape=True,
    name=None,
):
    """The area under the ROC curve, from how many true and false labels have scores in each bin.

    Args:
      boolean_labels: bool, [batch].
      scores: numbers of the same shape.
      score_range: [lowest, highest]; scores outside count in the first and the last bin.
      nbins: how many bins there are.
      collections: of the variables that keep the counts; GraphKeys.LOCAL_VARIABLES if None.
      check_shape: True to check the rank when it runs.
      name: the variable scope.

    Returns:
      (a float32 scalar, an Operation to run with each step).

    Raises:
      ValueError: if labels are not bool. InvalidArgumentError when it runs, for another rank.
    """
    collections = [GraphKeys.LOCAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        labels, scores = remove_squeezable_dimensions(convert(boolean_labels), convert(scores))
        if labels.dtype.base_dtype != dtypes.bool:
            raise ValueError(
                f"Argument boolean_labels should have dtype bool.  Found: {labels.dtype.name}"
            )
        checks = []
        if check_shape:
            checks = [
                Assert(
                    gen_ops.equal(rank(each), 1), [f"{each.name} should have rank 1", rank(each)]
                )
                for each in (labels, scores)
            ]
        score_range = convert(score_range, scores.dtype.base_dtype)
        kept, updates = [], []
        with control_dependencies(checks):
            for kind, mask in (("true", labels), ("false", gen_ops.logical_not(labels))):
                found = boolean_mask(scores, mask)
                bins = histogram_fixed_width(found, score_range, nbins, dtypes.int64)
                held = get_variable(
                    f"hist_accumulate/hist_{kind}_acc",
                    [nbins],
                    dtypes.int64,
                    Zeros(),
                    collections=collections,
                    trainable=False,
                )
                kept.append(held)
                updates.append(held.assign_add(bins).op)
        # From the highest score to the lowest, as a curve goes.
        true, false = (reverse(cast(convert(held), dtypes.float32), [0]) for held in kept)
        dx, dy = false / reduce_sum(false), true / reduce_sum(true)
        y = cumsum(dy)
        before = pad(y[:-1], [[1, 0]])
        return reduce_sum(dx * (y + before) / 2.0, name="auc"), group(*updates, name="update_op")

"""Sparsemax: probabilities of which many are 0, and the loss that goes with them (arXiv 1602.02068)."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast, cumsum, equal, range
from millrace._ops.arrays import expand_dims, fill, where, zeros_like
from millrace._ops.layers import top_k
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes


def sparsemax(logits, name=None):
    """The point of the probability simplex that is nearest to each row: max(logits - a threshold of the row, 0).

    Args:
      logits: a half, float32 or float64 Tensor of shape [batch, classes].
      name: the name scope.

    Returns:
      a Tensor of the same type and shape whose rows sum to 1. What is -inf gets 0. A row with an inf or a NaN, or
      with nothing but -inf, is all NaN.

    Raises:
      ValueError: if logits are known to be no matrix.
    """
    with name_scope(name, "sparsemax", [logits]):
        logits = convert(logits, name="logits")
        kind, of_rows = logits.dtype.base_dtype, logits.shape.with_rank(2)
        classes = gen_ops.shape(logits)[1]
        falling, _ = top_k(logits, k=classes)
        sums = cumsum(falling, axis=1)
        places = range(1, cast(classes, kind) + 1, dtype=kind)
        # True for as many as are above 0 in the end: each stays so while it is above the threshold of those before it.
        stays = 1 + places * falling > sums
        count = reduce_sum(cast(stays, dtypes.int32), axis=1)
        kept = reduce_sum(where(stays, falling, zeros_like(falling)), axis=1)
        threshold = (kept - 1) / cast(count, kind)
        made = gen_ops.maximum(constant(0, kind), logits - expand_dims(threshold, 1))
        is_lost = gen_ops.logical_or(equal(count, 0), gen_ops.is_nan(sums[:, -1]))
        lost = fill(gen_ops.shape(logits), constant(float("nan"), kind))
        made = where(is_lost, lost, made)
        made.set_shape(of_rows)
        return made


def sparsemax_loss(logits, sparsemax, labels, name=None):
    """The loss whose gradient in the logits is sparsemax - labels.

    Args:
      logits: a half, float32 or float64 Tensor of shape [batch, classes].
      sparsemax: sparsemax(logits).
      labels: what probabilities should be: of the same type and shape, each row a distribution.
      name: the name scope.

    Returns:
      a vector of shape [batch], 0 where both distributions are one. A class of logit -inf counts for nothing where its
      label is 0, and makes the loss inf where it is not.
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = convert(logits, name="logits")
        sparsemax = convert(sparsemax, name="sparsemax")
        labels = convert(labels, name="labels")
        # 0 * -inf would be NaN: what has no share is left out, not multiplied.
        has_share = gen_ops.logical_or(sparsemax > 0, gen_ops.is_nan(sparsemax))
        of_shares = where(has_share, sparsemax * (logits - 0.5 * sparsemax), zeros_like(sparsemax))
        is_unasked = gen_ops.logical_and(equal(labels, 0), gen_ops.is_inf(logits))
        of_labels = where(is_unasked, zeros_like(logits), labels * (0.5 * labels - logits))
        return reduce_sum(of_shares + of_labels, axis=1)

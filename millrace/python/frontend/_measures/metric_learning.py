"""tf.contrib.losses.metric_learning: losses that bring embeddings of one label together."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._ops.arithmetic import add_n, cast, equal
from millrace._ops.arrays import expand_dims, transpose, where, zeros_like
from millrace._ops.cross_entropies import softmax_cross_entropy_with_logits_v2
from millrace._ops.debug import Print
from millrace._ops.linear_algebra import matmul
from millrace._ops.matrices import matrix_set_diag
from millrace._ops.reductions import reduce_any, reduce_max, reduce_mean, reduce_min, reduce_sum
from millrace._values import dtypes


def pairwise_distance(feature, squared=False):
    """How far each row is from each other one: a matrix with zeros where a row meets itself.

    Args:
      feature: embeddings, a floating Tensor of shape [batch, size].
      squared: True for the squares of distances.

    Returns:
      a Tensor of shape [batch, batch].
    """
    feature = convert(feature)
    norms = reduce_sum(gen_ops.square(feature), [1], keepdims=True)
    made = norms + transpose(norms) - 2.0 * matmul(feature, feature, transpose_b=True)
    made = gen_ops.maximum(made, 0.0)
    if not squared:
        # The slope of a root is infinite at 0: there the distance is a constant.
        is_zero = gen_ops.less_equal(made, 0.0)
        root = gen_ops.sqrt(where(is_zero, zeros_like(made) + 1.0, made))
        made = where(is_zero, zeros_like(made), root)
    return matrix_set_diag(made, zeros_like(made[0]))


def contrastive_loss(labels, embeddings_anchor, embeddings_positive, margin=1.0):
    """The mean of squared distances of pairs, and of what lacks to `margin` where they should be apart.

    Args:
      labels: 1 for pairs that belong together, else 0; a Tensor of shape [batch].
      embeddings_anchor, embeddings_positive: the pairs, float Tensors of shape [batch, size].
      margin: a number.

    Returns:
      a float32 scalar.
    """
    squares = reduce_sum(
        gen_ops.square(convert(embeddings_anchor) - convert(embeddings_positive)), 1
    )
    distances = gen_ops.sqrt(squares)
    together = cast(convert(labels), dtypes.float32)
    apart = gen_ops.square(gen_ops.maximum(margin - distances, 0.0))
    return reduce_mean(together * squares + (1.0 - together) * apart, name="contrastive_loss")


def triplet_semihard_loss(labels, embeddings, margin=1.0):
    """The mean, over pairs of one label, of how much another label is nearer than `margin` beyond them.

    The other label's is the nearest that is further away than the pair (semi-hard), or the furthest if
    none is. Distances are squared.

    Args:
      labels: integers, a Tensor of shape [batch].
      embeddings: a float Tensor of shape [batch, size], rows of norm 1 as a rule.
      margin: a number.

    Returns:
      a float32 scalar; not a number if no two have one label.
    """
    labels = convert(labels)
    distance = pairwise_distance(embeddings, squared=True)
    same = equal(expand_dims(labels, 1), expand_dims(labels, 0))
    # Axes: the anchor, who is of its label, who is of another.
    others = expand_dims(distance, 1)
    is_further = gen_ops.logical_and(
        expand_dims(gen_ops.logical_not(same), 1),
        gen_ops.greater(others, expand_dims(distance, 2)),
    )
    largest = reduce_max(distance, 1, keepdims=True)
    beyond = cast(gen_ops.logical_not(is_further), dtypes.float32) * expand_dims(largest, 2)
    nearest = reduce_min(cast(is_further, dtypes.float32) * others + beyond, 2)
    smallest = reduce_min(distance, 1, keepdims=True)
    different = cast(gen_ops.logical_not(same), dtypes.float32)
    furthest = reduce_max((distance - smallest) * different, 1, keepdims=True) + smallest
    chosen = where(reduce_any(is_further, 2), nearest, furthest + zeros_like(distance))
    same = cast(same, dtypes.float32)
    pairs = matrix_set_diag(same, zeros_like(same[0]))
    missed = gen_ops.maximum((margin + distance - chosen) * pairs, 0.0)
    return gen_ops.real_div(reduce_sum(missed), reduce_sum(pairs), name="triplet_semihard_loss")


def npairs_loss(
    labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002, print_losses=False
):
    """The cross entropy of who belongs to whom, by products of embeddings, and their mean square.

    Args:
      labels: integers, a Tensor of shape [pairs].
      embeddings_anchor, embeddings_positive: the pairs, float Tensors of shape [pairs, size].
      reg_lambda: a factor of the mean square.
      print_losses: True to print both parts at each step.

    Returns:
      a float32 scalar.
    """
    anchor, positive = convert(embeddings_anchor), convert(embeddings_positive)
    squares = [reduce_mean(reduce_sum(gen_ops.square(each), 1)) for each in (anchor, positive)]
    size_loss = gen_ops.mul(add_n(squares), 0.25 * reg_lambda, name="l2loss")
    labels = convert(labels)
    same = cast(equal(expand_dims(labels, 1), expand_dims(labels, 0)), dtypes.float32)
    entropies = softmax_cross_entropy_with_logits_v2(
        labels=same / reduce_sum(same, 1, keepdims=True),
        logits=matmul(anchor, positive, transpose_b=True),
    )
    entropy = reduce_mean(entropies, name="xentropy")
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", size_loss])
    return size_loss + entropy

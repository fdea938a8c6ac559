"""Losses that look at some classes of many, and what draws the classes."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import reshape
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.linear_algebra import matmul
from millrace._ops.random_values import seeds
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes

__all__ = [
    "all_candidate_sampler",
    "compute_accidental_hits",
    "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "nce_loss",
    "sampled_softmax_loss",
    "uniform_candidate_sampler",
]


def uniform_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Draws classes of [0, range_max), each as likely as others.

    Args:
      true_classes: an int64 matrix of `num_true` columns, the classes of each example.
      num_true, num_sampled: how many classes an example has, and how many are drawn.
      unique: True to draw none twice.
      range_max: how many classes there are.
      seed: for draws that repeat.
      name: a name for the node.

    Returns:
      sampled_candidates (int64, [num_sampled]), true_expected_count (like true_classes) and
      sampled_expected_count ([num_sampled]): how often each class is expected among those drawn.
    """
    return gen_ops.uniform_candidate_sampler(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        name=name,
        **seeds(seed),
    )


def log_uniform_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """As uniform_candidate_sampler, for classes in order of how frequent they are (Zipf's law)."""
    return gen_ops.log_uniform_candidate_sampler(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        name=name,
        **seeds(seed),
    )


def learned_unigram_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """As uniform_candidate_sampler; what was true in earlier runs becomes more likely."""
    return gen_ops.learned_unigram_candidate_sampler(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        name=name,
        **seeds(seed),
    )


def fixed_unigram_candidate_sampler(
    true_classes,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file="",
    distortion=1.0,
    num_reserved_ids=0,
    num_shards=1,
    shard=0,
    unigrams=(),
    seed=None,
    name=None,
):
    """As uniform_candidate_sampler, by weights.

    Args:
      vocab_file: a file whose lines end in a comma and a weight; or
      unigrams: the weights.
      distortion: the power to which weights are raised.
      num_reserved_ids: so many classes before those of the weights are never drawn.
      num_shards, shard: draw only classes that are `shard` modulo `num_shards`.
      true_classes, num_true, num_sampled, unique, range_max, seed, name: as there.
    """
    return gen_ops.fixed_unigram_candidate_sampler(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
        name=name,
        **seeds(seed),
    )


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """All classes of [0, num_sampled), in the place of some."""
    return gen_ops.all_candidate_sampler(
        true_classes, num_true, num_sampled, unique, name=name, **seeds(seed)
    )


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """(indices, ids, weights): which sampled candidates are true classes of which examples."""
    return gen_ops.compute_accidental_hits(
        true_classes, sampled_candidates, num_true, name=name, **seeds(seed)
    )


def _sampled_logits(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true,
    sampled_values,
    subtract_log_q,
    remove_accidental_hits,
    partition_strategy,
    seed,
):
    """(logits, labels) of the true classes and of those drawn, side by side."""
    labels = cast(labels, dtypes.int64)
    flat = reshape(labels, [-1])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            labels, num_true, num_sampled, True, num_classes, seed=seed
        )
    sampled, true_expected, sampled_expected = map(gen_ops.stop_gradient, sampled_values)
    sampled = cast(sampled, dtypes.int64)
    ids = gen_ops.concat_v2([flat, sampled], 0)
    rows = embedding_lookup(weights, ids, partition_strategy=partition_strategy)
    offsets = embedding_lookup(biases, ids, partition_strategy=partition_strategy)
    number = gen_ops.shape(flat)[0]
    true_rows, sampled_rows = rows[:number], rows[number:]
    true_offsets, sampled_offsets = offsets[:number], offsets[number:]
    width = true_rows.shape[1] if true_rows.shape.ndims else None
    dims = [-1, num_true, width.value if width is not None and width.value else -1]
    if dims[2] == -1:
        dims = gen_ops.concat_v2([[-1, num_true], gen_ops.shape(true_rows)[1:]], 0)
    products = gen_ops.mul(gen_ops.expand_dims(inputs, 1), reshape(true_rows, dims))
    true_logits = reduce_sum(products, 2) + reshape(true_offsets, [-1, num_true])
    sampled_logits = matmul(inputs, sampled_rows, transpose_b=True) + sampled_offsets
    if remove_accidental_hits:
        sampled_logits = _without_hits(sampled_logits, labels, sampled, num_true)
    if subtract_log_q:
        true_logits -= gen_ops.log(cast(true_expected, true_logits.dtype))
        sampled_logits -= gen_ops.log(cast(sampled_expected, sampled_logits.dtype))
    logits = gen_ops.concat_v2([true_logits, sampled_logits], 1)
    share = constant(1.0 / num_true, true_logits.dtype)
    wanted = gen_ops.concat_v2(
        [
            gen_ops.fill(gen_ops.shape(true_logits), share),
            gen_ops.zeros_like(sampled_logits),
        ],
        1,
    )
    return logits, wanted


def _without_hits(logits, labels, sampled, num_true):
    """The logits, those that stand for a true class as small as can be."""
    rows, columns, weights = compute_accidental_hits(labels, sampled, num_true)
    number = gen_ops.shape(logits, out_type=dtypes.int64)
    places = cast(rows, dtypes.int64) * number[1] + columns
    summed = gen_ops.unsorted_segment_sum(weights, places, number[0] * number[1])
    # A class that an example has twice is no smaller for it.
    smallest = gen_ops.maximum(summed, convert(dtypes.float32.min, dtypes.float32))
    return logits + cast(reshape(smallest, number), logits.dtype)


def nce_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    partition_strategy="mod",
    name="nce_loss",
):
    """The noise-contrastive loss of each example: true classes told apart from those drawn.

    Args:
      weights: a table of shape [num_classes, dim], or its parts as for embedding_lookup.
      biases: of shape [num_classes], likewise.
      labels: int64 of shape [batch, num_true], the true classes.
      inputs: of shape [batch, dim].
      num_sampled, num_classes, num_true: how many classes are drawn, there are, an example has.
      sampled_values: what a candidate sampler returned; None for log_uniform_candidate_sampler.
      remove_accidental_hits: True to leave out drawn classes that are true ones.
      partition_strategy: as for embedding_lookup.
      name: the name scope.

    Returns:
      a Tensor of shape [batch].
    """
    with name_scope(name, "nce_loss", [inputs, labels]):
        logits, wanted = _sampled_logits(
            weights,
            biases,
            convert(labels),
            convert(inputs),
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            True,
            remove_accidental_hits,
            partition_strategy,
            None,
        )
        count_more(38)  # TensorFlow looks up true and drawn classes at once and takes them apart
        return reduce_sum(sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits), 1)


def sampled_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    partition_strategy="mod",
    name="sampled_softmax_loss",
    seed=None,
):
    """The softmax loss of each example over its true classes and those drawn; as nce_loss."""
    with name_scope(name, "sampled_softmax_loss", [inputs, labels]):
        logits, wanted = _sampled_logits(
            weights,
            biases,
            convert(labels),
            convert(inputs),
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            True,
            remove_accidental_hits,
            partition_strategy,
            seed,
        )
        count_more(26)  # as in nce_loss
        return softmax_cross_entropy_with_logits_v2(
            labels=gen_ops.stop_gradient(wanted), logits=logits
        )

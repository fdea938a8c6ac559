"""Skip-grams: pairs of a word and one that stands near it (arXiv 1301.3781)."""

import csv

from millrace import _gen as gen_ops
from millrace._files import paths
from millrace._flow.control_flow import Assert
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._input.batching import batch
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import boolean_mask, expand_dims, gather, size, where
from millrace._ops.random_values import random_uniform
from millrace._state.table_initializers import TextFileInitializer
from millrace._state.tables import HashTable, InitializableLookupTableBase
from millrace._values import dtypes


def skip_gram_sample(
    input_tensor,
    min_skips=1,
    max_skips=5,
    start=0,
    limit=-1,
    emit_self_as_target=False,
    vocab_freq_table=None,
    vocab_min_count=None,
    vocab_subsampling=None,
    corpus_size=None,
    batch_size=None,
    batch_capacity=None,
    seed=None,
    name=None,
):
    """Pairs of each word and all that stand as near as a number drawn for it says.

    Args:
      input_tensor: words or their numbers in the order of the text: a vector.
      min_skips, max_skips: between which, both included, the farthest distance of a word is drawn; int32 scalars.
      start, limit: which words take part: from which on, and how many at most, all for -1; int32 scalars.
      emit_self_as_target: True for pairs of each word and itself, too; a bool scalar.
      vocab_freq_table: a table from words to how often they are; others are left out, and those around them move
        together.
      vocab_min_count: how often a word must be to take part.
      vocab_subsampling: about which share of the text a word may be before it is left out now and then (arXiv
        1310.4546): a number from 0 to 1.
      corpus_size: how many words the text has that the table was counted of; with vocab_subsampling.
      batch_size: how many pairs to give at a time, from a queue; None for all, of which there are now more, now fewer.
      batch_capacity: how many pairs the queue holds; 100 batches if None.
      seed: for what is drawn.
      name: the name scope.

    Returns:
      (words, those near them): vectors of the type of input_tensor.

    Raises:
      ValueError: if the table is missing or of another class, corpus_size comes without vocab_subsampling or the other
      way round, or that is no share. InvalidArgumentError, when it runs: if min_skips is negative or above max_skips.
    """
    if vocab_freq_table is None:
        useless = {
            "vocab_min_count": vocab_min_count,
            "vocab_subsampling": vocab_subsampling,
            "corpus_size": corpus_size,
        }
        if any(value is not None for value in useless.values()):
            said = ", ".join(f"{key}={value}" for key, value in useless.items())
            raise ValueError(f"vocab_freq_table is not provided, but needed for {said}")
    if (vocab_subsampling is None) != (corpus_size is None):
        raise ValueError(
            f"vocab_subsampling is {vocab_subsampling} while corpus_size is {corpus_size} - both must be provided in "
            "order for subsampling to work."
        )
    with name_scope(name, "skip_gram_sample", [input_tensor, min_skips, max_skips, start, limit]):
        words = convert(input_tensor, name="input_tensor")
        if vocab_freq_table is not None:
            words = _known(
                words, vocab_freq_table, vocab_min_count, vocab_subsampling, corpus_size, seed
            )
        numbers = [convert(each, dtypes.int32) for each in (min_skips, max_skips, start, limit)]
        pairs = _pairs(words, *numbers, convert(emit_self_as_target, dtypes.bool), seed)
        if not batch_size or batch_size < 0:
            return pairs
        if not batch_capacity or batch_capacity < 0:
            batch_capacity = 100 * batch_size
        return tuple(batch(list(pairs), batch_size, capacity=batch_capacity, enqueue_many=True))


def _known(words, table, min_count, subsampling, corpus_size, seed):
    """The words that take part."""
    if not isinstance(table, InitializableLookupTableBase):
        raise ValueError(
            "vocab_freq_table must be a subclass of InitializableLookupTableBase (such as HashTable) instead of type "
            f"{type(table)}."
        )
    if subsampling is not None and not 0 <= subsampling <= 1:
        raise ValueError(
            f"Invalid vocab_subsampling={subsampling} - it should be within range [0, 1]."
        )
    count = table.lookup(words)
    stays = gen_ops.not_equal(count, table.default_value)
    if min_count is not None:
        stays = gen_ops.logical_and(stays, count >= cast(min_count, count.dtype))
    words, count = boolean_mask(words, stays), boolean_mask(count, stays)
    if not subsampling:
        return words
    # How much more often than it should be a word is; the rarer ones have more than 1 and always stay.
    excess = cast(count, dtypes.float64) / (subsampling * cast(corpus_size, dtypes.float64))
    chance = (gen_ops.sqrt(excess) + 1) / excess
    drawn = random_uniform(gen_ops.shape(count), dtype=dtypes.float64, seed=seed)
    return boolean_mask(words, drawn <= chance)


def _pairs(words, least, most, start, limit, with_self, seed):
    """(words, those near them), in the order of the text."""
    count = size(words)
    end = where(limit < 0, count, gen_ops.minimum(start + limit, count))
    checks = [
        Assert(
            gen_ops.logical_and(least >= 0, most >= 0),
            ["Both min_skips and max_skips must be >= 0.", least, most],
        ),
        Assert(least <= most, ["min_skips must be <= max_skips.", least, most]),
    ]
    with control_dependencies(checks):
        places = gen_ops.range(start, gen_ops.maximum(start, end), 1)
    farthest = random_uniform(gen_ops.shape(places), least, most + 1, dtypes.int32, seed)
    # A row for each word, with a column for each distance that there may be.
    distances = expand_dims(gen_ops.range(-most, most + 1, 1), 0)
    others = expand_dims(places, 1) + distances
    is_near = gen_ops.abs(distances) <= expand_dims(farthest, 1)
    is_there = gen_ops.logical_and(others >= start, others < end)
    is_asked = gen_ops.logical_or(gen_ops.not_equal(distances, 0), with_self)
    found = gen_ops.where(gen_ops.logical_and(gen_ops.logical_and(is_near, is_there), is_asked))
    places = gather(places, found[:, 0])
    others = places + cast(found[:, 1], dtypes.int32) - most
    return gather(words, places), gather(words, others)


def skip_gram_sample_with_text_vocab(
    input_tensor,
    vocab_freq_file,
    vocab_token_index=0,
    vocab_token_dtype=dtypes.string,
    vocab_freq_index=1,
    vocab_freq_dtype=dtypes.float64,
    vocab_delimiter=",",
    vocab_min_count=0,
    vocab_subsampling=None,
    min_skips=1,
    max_skips=5,
    start=0,
    limit=-1,
    emit_self_as_target=False,
    batch_size=None,
    batch_capacity=None,
    seed=None,
    name=None,
):
    """skip_gram_sample with a table from a file, whose counts together are the size of the text.

    Args:
      vocab_freq_file: a text file with a word a line, in columns.
      vocab_token_index, vocab_freq_index: which column has words, and which how often they are.
      vocab_token_dtype, vocab_freq_dtype: the types of both.
      vocab_delimiter: what stands between columns: one character.
      the others: as for skip_gram_sample.

    Returns:
      as skip_gram_sample.

    Raises:
      ValueError: if a column is negative or not there, both are one, or a count is negative; OSError: if the file can't
      be read. And as skip_gram_sample.
    """
    if vocab_token_index < 0 or vocab_freq_index < 0:
        raise ValueError(
            f"vocab_token_index={vocab_token_index} and vocab_freq_index={vocab_freq_index} must both be >= 0."
        )
    if vocab_token_index == vocab_freq_index:
        raise ValueError(
            "vocab_token_index and vocab_freq_index should be different, but are both "
            f"{vocab_token_index}."
        )
    number = dtypes.as_dtype(vocab_freq_dtype).as_numpy_dtype
    with paths.open_file(vocab_freq_file, encoding="utf-8", newline="") as file:
        counts = [
            _count_of(row, vocab_token_index, vocab_freq_index, number)
            for row in csv.reader(file, delimiter=vocab_delimiter)
        ]
    initializer = TextFileInitializer(
        vocab_freq_file,
        vocab_token_dtype,
        vocab_token_index,
        vocab_freq_dtype,
        vocab_freq_index,
        vocab_size=len(counts),
        delimiter=vocab_delimiter,
    )
    return skip_gram_sample(
        input_tensor,
        min_skips,
        max_skips,
        start,
        limit,
        emit_self_as_target,
        HashTable(initializer, default_value=-1),
        vocab_min_count,
        vocab_subsampling,
        None if vocab_subsampling is None else float(sum(counts)),
        batch_size,
        batch_capacity,
        seed,
        name,
    )


def _count_of(row, token_index, freq_index, number):
    if max(token_index, freq_index) >= len(row):
        raise ValueError(
            f"Row in vocab file only has {len(row)} columns, so vocab_token_index={token_index} or "
            f"vocab_freq_index={freq_index} is out of bounds. Row content: {row}"
        )
    count = number(row[freq_index])
    if count < 0:
        raise ValueError(f"Row in vocab file has negative frequency of {count}. Row content: {row}")
    return count

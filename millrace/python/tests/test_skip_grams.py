"""tf.contrib.text: pairs of words that stand near each other."""

import collections

import numpy as np
import pytest

import millrace as tf

skip_gram_sample = tf.contrib.text.skip_gram_sample
skip_gram_sample_with_text_vocab = tf.contrib.text.skip_gram_sample_with_text_vocab
WORDS = ["the", "quick", "brown", "fox", "jumps", "over"]


def near(words, distance, start=0, end=None, with_self=False):
    """All pairs that are no farther apart, in the order of the text."""
    end = len(words) if end is None else end
    return [
        (words[here], words[there])
        for here in range(start, end)
        for there in range(max(start, here - distance), min(end, here + distance + 1))
        if with_self or here != there
    ]


def pairs(session, made):
    tokens, labels = session.run(made)
    plain = [
        [each.decode() if isinstance(each, bytes) else each for each in x] for x in (tokens, labels)
    ]
    return list(zip(*plain))


@pytest.mark.parametrize("distance", [0, 1, 2, 9])
@pytest.mark.parametrize("with_self", [False, True])
def test_words_are_paired_with_those_around_them(session, distance, with_self):
    made = skip_gram_sample(WORDS, distance, distance, emit_self_as_target=with_self)
    assert made[0].dtype == tf.string and made[0].shape.as_list() == [None]
    assert pairs(session, made) == near(WORDS, distance, with_self=with_self)


@pytest.mark.parametrize(
    "start, limit, end", [(2, -1, 6), (1, 3, 4), (4, 9, 6), (0, 0, 0), (6, -1, 6), (9, -1, 6)]
)
def test_a_part_of_the_text_is_by_itself(session, start, limit, end):
    numbers = tf.constant([5, 6, 7, 8, 9, 10], tf.int64)
    made = skip_gram_sample(numbers, 2, 2, tf.constant(start), limit, True)
    assert made[1].dtype == tf.int64
    assert pairs(session, made) == near([5, 6, 7, 8, 9, 10], 2, start, end, True)


def test_how_far_a_word_looks_is_drawn_for_it(session):
    tf.set_random_seed(3)
    made = skip_gram_sample(np.arange(300), 1, 3)
    farthest = collections.defaultdict(int)
    for word, other in pairs(session, made):
        farthest[word] = max(farthest[word], abs(word - other))
    drawn = [farthest[word] for word in range(3, 297)]
    assert set(drawn) == {1, 2, 3} and min(drawn.count(each) for each in (1, 2, 3)) > 60
    found = pairs(session, made)
    assert sorted(found) == found != pairs(session, made)
    once, again = (skip_gram_sample(np.arange(300), 1, 3, seed=7) for _ in range(2))
    with tf.Session() as first, tf.Session() as second:
        assert pairs(first, once) == pairs(second, again)


def counted(counts):
    table = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(list(counts), list(counts.values())), -1
    )
    return table


def test_words_that_nobody_knows_or_few_use_leave_and_the_others_move_together(session):
    table = counted({"the": 9, "brown": 3, "jumps": 5, "over": 2, "unused": 8})
    made = [
        skip_gram_sample(WORDS, 1, 1, vocab_freq_table=table),
        skip_gram_sample(WORDS, 1, 1, vocab_freq_table=table, vocab_min_count=3),
    ]
    session.run(tf.tables_initializer())
    assert pairs(session, made[0]) == near(["the", "brown", "jumps", "over"], 1)
    assert pairs(session, made[1]) == near(["the", "brown", "jumps"], 1)


def test_words_that_are_too_frequent_leave_now_and_then(session):
    table = counted({"often": 900, "seldom": 1})
    made = skip_gram_sample(
        ["often", "seldom"] * 2000,
        0,
        0,
        emit_self_as_target=True,
        vocab_freq_table=table,
        vocab_subsampling=0.01,
        corpus_size=1000,
        seed=5,
    )
    session.run(tf.tables_initializer())
    found = collections.Counter(word for word, _ in pairs(session, made))
    assert found["seldom"] == 2000
    chance = (np.sqrt(90) + 1) / 90
    assert abs(found["often"] / 2000 - chance) < 0.03


def test_batches_have_as_many_pairs_as_are_asked_for(session):
    made = skip_gram_sample(WORDS, 1, 1, batch_size=4, batch_capacity=40)
    assert made[0].shape.as_list() == [4]
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    found = [pair for _ in range(5) for pair in pairs(session, made)]
    assert found == (near(WORDS, 1) * 2)[:20]
    coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("the,en,900\nfox,en,3\nover,en,2\nle,fr,95\n")
    return str(path)


def test_a_file_says_how_often_words_are(session, vocabulary):
    made = [
        skip_gram_sample_with_text_vocab(
            WORDS, vocabulary, vocab_freq_index=2, vocab_min_count=least, min_skips=1, max_skips=1
        )
        for least in (0, 3)
    ]
    subsampled = skip_gram_sample_with_text_vocab(
        ["the", "fox"] * 2000,
        vocabulary,
        vocab_freq_index=2,
        vocab_freq_dtype=tf.int64,
        vocab_subsampling=0.01,
        min_skips=0,
        max_skips=0,
        emit_self_as_target=True,
        seed=5,
    )
    session.run(tf.tables_initializer())
    assert pairs(session, made[0]) == near(["the", "fox", "over"], 1)
    assert pairs(session, made[1]) == near(["the", "fox"], 1)
    found = collections.Counter(word for word, _ in pairs(session, subsampled))
    assert found["fox"] == 2000 and abs(found["the"] / 2000 - (np.sqrt(90) + 1) / 90) < 0.03


def test_files_that_do_not_fit_are_refused(vocabulary, tmp_path):
    sample = skip_gram_sample_with_text_vocab
    with pytest.raises(ValueError, match="must both be >= 0"):
        sample(WORDS, vocabulary, vocab_token_index=-1)
    with pytest.raises(ValueError, match="should be different, but are both 1"):
        sample(WORDS, vocabulary, vocab_token_index=1)
    with pytest.raises(ValueError, match="only has 3 columns.*'the', 'en', '900'"):
        sample(WORDS, vocabulary, vocab_freq_index=3)
    (tmp_path / "bad.csv").write_text("a,-2\n")
    with pytest.raises(ValueError, match="negative frequency of -2"):
        sample(WORDS, str(tmp_path / "bad.csv"))


def test_arguments_that_do_not_fit_are_refused(session):
    with pytest.raises(ValueError, match="vocab_freq_table is not provided"):
        skip_gram_sample(WORDS, vocab_min_count=1)
    table = counted({"the": 1})
    with pytest.raises(ValueError, match="both must be provided"):
        skip_gram_sample(WORDS, vocab_freq_table=table, vocab_subsampling=0.1)
    with pytest.raises(ValueError, match="within range"):
        skip_gram_sample(WORDS, vocab_freq_table=table, vocab_subsampling=2, corpus_size=9)
    with pytest.raises(ValueError, match="must be a subclass of InitializableLookupTableBase"):
        skip_gram_sample(WORDS, vocab_freq_table={"the": 1})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be >= 0"):
        session.run(skip_gram_sample(WORDS, -1, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="min_skips must be <= max_skips"):
        session.run(skip_gram_sample(WORDS, 3, 2))

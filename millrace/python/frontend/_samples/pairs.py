"""Pairs of words that stand near each other, as skip-gram models learn from them."""

import random

import numpy as np


def make_sampling_table(size, sampling_factor=1e-5):
    """How probably each word is kept, if the word of rank i is as frequent as Zipf's law says.

    Args:
      size: how many words there are.
      sampling_factor: the smaller, the fewer frequent words are kept.

    Returns:
      an array of `size` probabilities.
    """
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)
    share = sampling_factor * inverse
    return np.minimum(1.0, share / np.sqrt(share))


def skipgrams(
    sequence,
    vocabulary_size,
    window_size=4,
    negative_samples=1.0,
    shuffle=True,
    categorical=False,
    sampling_table=None,
    seed=None,
):
    """Pairs of a word and one near it, and pairs with words drawn at random.

    Args:
      sequence: numbers of words; 0 stands for none.
      vocabulary_size: how many words there are, with 0.
      window_size: how far apart they may be.
      negative_samples: how many random pairs there are for each true one.
      shuffle: whether they come in another order.
      categorical: whether labels are [0, 1] for true pairs and [1, 0], instead of 1 and 0.
      sampling_table: how probably a word is kept, by its number.
      seed: of the order, with shuffle.

    Returns:
      (pairs, labels), lists.
    """
    pairs, labels = [], []
    true, false = ([0, 1], [1, 0]) if categorical else (1, 0)
    for i, word in enumerate(sequence):
        if not word or sampling_table is not None and sampling_table[word] < random.random():
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                pairs.append([word, sequence[j]])
                labels.append(true)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [pair[0] for pair in pairs]
        random.shuffle(words)
        pairs += [
            [words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)
        ]
        labels += [false] * count
    if shuffle:
        order = list(range(len(pairs)))
        random.Random(random.randint(0, 10**7) if seed is None else seed).shuffle(order)
        pairs, labels = [pairs[i] for i in order], [labels[i] for i in order]
    return pairs, labels

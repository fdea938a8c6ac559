"""Finds lines of texts that are alike: k-means on vectors of the words in them, one MapReduce a round.

    millrace run --job files=1 --job worker=2 --until files -- \\
        python3 examples/kmeans_text.py 'texts/*.txt' clusters 3 5

finds 3 centres in 5 rounds. A line's vector says how often it has words of each of 64 kinds, by their checksums,
and has length 1. A mapper adds a line's vector to those of the nearest centre; sums over counts are the centres of the
next round, which every task reads from the folder of the one before. Numbers are whole millionths, so the order of adding
does not matter: the program in C++ (kmeans_text.cc) finds the same centres, to the byte.
"""

import functools
import glob
import math
import os
import sys
import zlib

from millrace import mapreduce

KINDS, ONE, SAMPLE = (
    64,
    1_000_000,
    200,
)  # kinds of words, the length of a vector, lines to begin with


def vector_of(line):
    """Whole numbers; none at all for a line without words."""
    counts = [0] * KINDS
    for word in line.split():
        counts[zlib.crc32(word.encode()) % KINDS] += 1
    length = math.sqrt(sum(count * count for count in counts))
    return [math.floor(count * ONE / length + 0.5) for count in counts] if length else []


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def nearest(centres, vector):
    """The number of the first centre that is nearest."""
    return min(range(len(centres)), key=lambda i: distance(centres[i], vector))


def first_centres(texts, k):
    """Of the first lines: the first one, then always the one that is farthest from those."""
    with open(sorted(glob.glob(texts))[0], encoding="utf-8") as file:
        vectors = [vector_of(line) for _, line in zip(range(SAMPLE), file)]
    vectors = [vector for vector in vectors if vector]
    centres = vectors[:1]
    while len(centres) < k:
        centres.append(max(vectors, key=lambda v: min(distance(c, v) for c in centres)))
    return centres


@functools.cache
def centres_of(folder, texts, k, round):
    """What a round begins with; a centre that no line is near to stays where it was."""
    if round == 0:
        return first_centres(texts, k)
    centres = [list(centre) for centre in centres_of(folder, texts, k, round - 1)]
    sums = {}
    for path in glob.glob(os.path.join(folder, f"round-{round - 1}", "part-*")):
        with open(path, encoding="utf-8") as file:
            sums.update(line.rstrip("\n").split("\t") for line in file)
    for i, centre in enumerate(centres):
        if f"{i}/lines" in sums:
            for j in range(KINDS):
                centre[j] = int(sums.get(f"{i}/{j}", 0)) // int(sums[f"{i}/lines"])
    return centres


def main():
    _, texts, folder, k, rounds = sys.argv
    k, rounds = int(k), int(rounds)
    for round in range(rounds):

        def near(line, round=round):
            vector = vector_of(line)
            if vector:
                centres = centres_of(folder, texts, k, round)
                at = nearest(centres, vector)
                yield f"{at}/lines", 1
                yield from ((f"{at}/{j}", x) for j, x in enumerate(vector) if x)

        result = mapreduce.run(
            texts,
            near,
            os.path.join(folder, f"round-{round}"),
            reduce=mapreduce.add,
            combine=mapreduce.add,
            name=f"round-{round}",
            say=None,
        )
    if result:
        with open(sorted(glob.glob(texts))[0], encoding="utf-8") as file:
            centres = centres_of(folder, texts, k, rounds)
            for _, line in zip(range(10), file):
                if vector := vector_of(line):
                    print(f"{nearest(centres, vector)}: {line.strip()[:60]}")


if __name__ == "__main__":
    main()

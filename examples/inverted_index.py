"""Tells for every word of texts in which files it is, and where.

    millrace run --job files=1 --job map=2 --job reduce=2 --until files -- \
        python3 examples/inverted_index.py 'texts/*.txt' index

A line of the folder `index` is a word, then file:byte of each line that has it, in the order of files.
"""

import os
import re
import sys

from millrace import mapreduce


def places_of_words(line):
    here = mapreduce.place()
    where = f"{os.path.basename(here.path)}:{here.position}"
    return [(word, where) for word in sorted(set(re.findall(r"\w+", line.lower())))]


def posting(word, places):
    return " ".join(places)


def main():
    _, texts, index = sys.argv
    mapreduce.run(mapreduce.Lines(texts, errors="replace"), places_of_words, index, reduce=posting)


if __name__ == "__main__":
    main()

"""Makes records of 100 bytes and sorts them over several files: two jobs in one program.

    millrace run --job files=1 --job map=2 --job reduce=2 --until files -- \
        python3 examples/sort_records.py --megabytes 10000 --folder sorting

The first job makes sorting/unsorted; the second sorts it into sorting/sorted, whose files, one after the other, are
in order: a partition has keys from here to there. Mappers hold --memory megabytes; the rest is on disk.
"""

import argparse
import os
import random
import string

from millrace import mapreduce

RECORD, KEY = 100, 10  # bytes, with the end of the line
CHUNK = 1000  # records
LETTERS = string.ascii_letters + string.digits
ORDER = {letter: i for i, letter in enumerate(sorted(LETTERS))}


def records_of(chunk):
    """The same ones for a number each time."""
    random_letters = random.Random(chunk)
    for i in range(CHUNK):
        key = "".join(random_letters.choices(LETTERS, k=KEY))
        yield (chunk, i), key + f"{chunk:010}{i:06}".ljust(RECORD - 1 - KEY, ".")


def by_first_letters(key, parts):
    first = ORDER[key[0]] * len(ORDER) + ORDER[key[1]]
    return first * parts // len(ORDER) ** 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1)
    parser.add_argument("--memory", type=int, default=64)
    parser.add_argument("--folder", default="sorting")
    arguments = parser.parse_args()
    chunks = arguments.megabytes * 1_000_000 // (RECORD * CHUNK)
    unsorted, in_order = (os.path.join(arguments.folder, name) for name in ("unsorted", "sorted"))
    memory = arguments.memory << 20
    mapreduce.run(
        mapreduce.Items(lambda: range(chunks), batch=10),
        records_of,
        mapreduce.TextFiles(unsorted, line=lambda number, record: record),
        memory=memory,
        name="make",
    )
    result = mapreduce.run(
        os.path.join(unsorted, "part-*"),
        lambda line: [(line[:KEY], line[KEY:])],
        mapreduce.TextFiles(in_order, line=lambda key, rest: key + rest),
        partition=by_first_letters,
        memory=memory,
        name="sort",
    )
    if result:
        print(f"sorted {result.counters['records written']} records into {len(result.files)} files")


if __name__ == "__main__":
    main()

"""Finds the lines of files that match a pattern, by as many tasks as there are.

    millrace run --job files=1 --job worker=4 --until files -- \
        python3 examples/distributed_grep.py 'ERROR|FATAL' '/var/log/**/*.log' found

Lines of the folder `found` are sorted by file and place: file:byte:line. Files that can't be read, up to a
hundred, are left out and listed in found/_rejected.jsonl.
"""

import re
import sys

from millrace import mapreduce


def main():
    _, pattern, files, found = sys.argv
    matches = re.compile(pattern).search

    def grep(line):
        if matches(line):
            mapreduce.count("lines found")
            yield tuple(mapreduce.place()), line

    def shown(place, line):
        path, position = place
        return f"{path}:{position}:{line}"

    result = mapreduce.run(
        mapreduce.Lines(files, errors="surrogateescape"),
        grep,
        mapreduce.TextFiles(found, line=shown),
        partitions=1,
        max_bad=100,
    )
    if result:
        print(f"{result.counters.get('lines found', 0)} lines in {result.files[0]}")


if __name__ == "__main__":
    main()

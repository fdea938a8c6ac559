"""MapReduce in C++: words of a text counted, and records of 100 bytes sorted, on as many threads as there are processors.

Beside the first stands Python's library, in as many tasks, counting the same text; beside the second `sort -S 256M` of
coreutils, in the C locale, with as many threads and the same memory. Files are on one disk, and were read just before, so
they come out of memory as far as there is any. MILLRACE_BENCH_MEGABYTES says how much (64 unless told).
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from figures import report, rounds

ROUNDS = 5
MEGABYTES = int(os.environ.get("MILLRACE_BENCH_MEGABYTES", 64))
MEMORY = 256  # megabytes
THREADS = os.cpu_count()
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def seconds_of(command, **more):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)
    return time.perf_counter() - start


def make_text(path, megabytes):
    """Lines of a hundred bytes or so, of words whose frequencies fall as those of a language do."""
    chance = random.Random(1)
    letters = "etaoinshrdlucmfw"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(50_000)]
    weights = [1 / (i + 1) for i in range(len(words))]
    with open(path, "w", encoding="ascii") as file:
        while file.tell() < megabytes * 1_000_000:
            some = chance.choices(words, weights, k=160_000)
            file.writelines(" ".join(some[i : i + 16]) + "\n" for i in range(0, len(some), 16))


def run_into(folder, command):
    """Seconds of a command that writes a new folder, which goes away afterwards."""
    try:
        return seconds_of(command)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def count_words(folder, binary):
    text, counts = folder / "text.txt", folder / "counts"
    make_text(text, MEGABYTES)
    tasks = ["--job", "files=1", "--job", f"worker={THREADS}", "--until", "files"]
    native = [binary / "mapreduce_words", text, counts]
    python = ["millrace", "run", *tasks, "--", sys.executable, EXAMPLES / "mapreduce_words.py"]
    ours, pythons = [], []
    for is_counted in rounds(ROUNDS):
        took = run_into(counts, native)
        beside = run_into(counts, [*python, text, counts])
        if is_counted:
            ours.append(took)
            pythons.append(beside)
    name = f"mapreduce, words of {MEGABYTES} MB in C++"
    report(name, "s", ours, None, "Python's library, as many tasks", pythons)
    text.unlink()


def sort_records(folder, binary):
    flags = [f"--memory={MEMORY}", f"--threads={THREADS}", f"--partitions={THREADS}"]
    made = [binary / "sort_records", f"--megabytes={MEGABYTES}", f"--folder={folder}", *flags]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "sorted")
    (part,) = (folder / "unsorted").glob("part-*")
    ours, sorts = [], []
    program = [binary / "sort_records", f"--unsorted={part}", f"--folder={folder}", *flags]
    sort = ["sort", f"-S{MEMORY}M", f"--parallel={THREADS}", "-T", folder, "-o", folder / "peer"]
    for is_counted in rounds(ROUNDS):
        took = run_into(folder / "sorted", program)
        beside = seconds_of([*sort, part], env={**os.environ, "LC_ALL": "C"})
        (folder / "peer").unlink()
        if is_counted:
            ours.append(took)
            sorts.append(beside)
    name = f"mapreduce, {MEGABYTES} MB of records sorted in C++ with {MEMORY} MB"
    report(name, "s", ours, None, f"sort -S{MEMORY}M, as many threads", sorts, goal_ratio=1)


def main():
    binary = pathlib.Path(shutil.which("millrace")).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        count_words(pathlib.Path(folder), binary)
        sort_records(pathlib.Path(folder), binary)


if __name__ == "__main__":
    main()

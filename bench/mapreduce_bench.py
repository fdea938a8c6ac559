"""MapReduce: words of a text counted, by mappers in Python and in C++, and records of 100 bytes sorted, on as many threads or
tasks as there are processors.

Beside the first two stand PySpark, Dask and Ray, as a user of theirs would count (words_of_peers.py), if `tools/peers` has
installed them; otherwise the figures stand without. Beside the third stands `sort -S 256M` of coreutils, in the C locale, with as many threads and the
same memory. Files are on one disk, and were read just before, so they come out of memory as far as there is any. Whole
processes are measured, starts included. MILLRACE_BENCH_MEGABYTES says how much data there is (64 unless told).
"""

import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import report, rounds

ROUNDS = 5
MEGABYTES = int(os.environ.get("MILLRACE_BENCH_MEGABYTES", 64))
MEMORY = 256  # megabytes
THREADS = os.cpu_count()
HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
PEERS = {"PySpark": "rdd", "PySpark's data frames": "frames", "Dask": "dask", "Ray": "ray"}
IN_JAVA = "PySpark's data frames"  # no Python in their mapper


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


def peers(text, counts):
    """Commands by name; none if they aren't there, which is said."""
    asked = subprocess.run(
        [HERE.parent / "tools" / "peers", "--check"], capture_output=True, text=True
    )
    if asked.returncode != 0:
        print(f"figures stand without peers: {asked.stderr.strip()}", file=sys.stderr)
        return {}
    python = asked.stdout.strip()
    return {
        name: [python, HERE / "words_of_peers.py", how, text, counts] for name, how in PEERS.items()
    }


def count_words(folder, binary):
    text, counts = folder / "text.txt", folder / "counts"
    make_text(text, MEGABYTES)
    tasks = ["--job", "files=1", "--job", f"worker={THREADS}", "--until", "files"]
    commands = {
        "C++": [binary / "mapreduce_words", text, counts],
        "Python": [
            "millrace",
            "run",
            *tasks,
            "--",
            sys.executable,
            EXAMPLES / "mapreduce_words.py",
            text,
            counts,
        ],
        **peers(text, counts),
    }
    took = {name: [] for name in commands}
    for is_counted in rounds(ROUNDS):
        for name, command in commands.items():
            seconds = run_into(counts, command)
            if is_counted:
                took[name].append(seconds)
    what = f"mapreduce, words of {MEGABYTES} MB"
    for ours, goal, others in (
        ("Python", 1, PEERS.keys() - {IN_JAVA}),
        ("C++", 0.2, PEERS.keys()),
    ):
        best = min(
            others & took.keys(), key=lambda name: statistics.median(took[name]), default=None
        )
        if best is None:
            report(f"{what} by mappers in {ours}", "s", took[ours])
        for peer in sorted(others & took.keys()):
            asked_for = goal if peer == best else None
            report(
                f"{what} by mappers in {ours}", "s", took[ours], None, peer, took[peer], asked_for
            )
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

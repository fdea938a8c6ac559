"""The word count of test_mapreduce_jobs.py, whose tasks die or stop where the test says: each way once.

    python3 counting_job.py TEXTS OUTPUT MARKS WAY ...

A way is one of the functions below. MARKS is a folder that remembers which have been gone.
"""

import os
import pathlib
import signal
import sys
import time

import millrace as tf
from millrace import mapreduce

TEXTS, OUTPUT, MARKS = sys.argv[1:4]
WAYS = set(sys.argv[4:])
ME = os.environ["TF_CONFIG"].partition('"task"')[2]
ME = "".join(letter for letter in ME if letter.isalnum())
acknowledge = tf.queue.Lease.ack


def is_first(name):
    """Whether nobody has been here before, in any process."""
    try:
        with open(os.path.join(MARKS, name), "x", encoding="utf-8") as file:
            file.write(str(os.getpid()))
        return True
    except FileExistsError:
        return False


def die():
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(name):
    """Alive, with its heartbeats, and no further: as on a machine that is slow."""
    end = time.monotonic() + 60
    while not os.path.exists(os.path.join(MARKS, name)):
        assert time.monotonic() < end, f"nobody has come to {name}"
        time.sleep(0.02)


def words(line):
    number = line.split()[0]
    if "dies_mapping" in WAYS and number in ("37", "190") and is_first(f"map-{number}"):
        die()
    if "always_dies" in WAYS and number == "37":
        die()
    if "stops" in WAYS and number == "37":
        if is_first("stopped"):
            os.kill(os.getpid(), signal.SIGSTOP)
        elif is_first("woken"):
            os.kill(int(pathlib.Path(MARKS, "stopped").read_text()), signal.SIGCONT)
    if "hangs" in WAYS and number == "37" and mapreduce.place().path.endswith("a.txt"):
        if is_first("hanging"):
            wait_for("helped")
        else:
            is_first("helped")
    if "raises" in WAYS and number == "37":
        raise ValueError("not this one")
    mapreduce.count("lines seen")
    return [(word, 1) for word in line.split()]


def total(word, counts):
    if "dies_reducing" in WAYS and word == "and" and is_first("reduce"):
        die()
    mapreduce.count("words seen")
    return sum(counts)


def show(line):
    """What the owner says, which is also where it may die: in the midst of the job."""
    print(line, flush=True)
    if "dies_owning" in WAYS and not line.startswith("0 of") and is_first("owner"):
        die()


def die_before_acknowledging(lease):
    """The report is there, and nobody has heard that the piece is done."""
    if "dies_after_its_report" in WAYS and is_first(f"ack-{ME}"):
        die()
    acknowledge(lease)


tf.queue.Lease.ack = die_before_acknowledging
result = mapreduce.run(
    mapreduce.Lines(TEXTS, split=200),
    words,
    OUTPUT,
    reduce=total,
    combine=mapreduce.add,
    lease=1 if "stops" in WAYS else 30,
    backups=0 if "hangs" in WAYS else None,
    attempts=3 if "always_dies" in WAYS else 20,
    memory=1 << 12,
    say=show,
    pause=0,
)
if result:
    print(f"lines {result.counters['lines seen']} words {result.counters['words seen']}")

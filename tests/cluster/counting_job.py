"""The word count of test_mapreduce_jobs.py, whose tasks die or stop where the test says: each way once.

    python3 counting_job.py TEXTS OUTPUT MARKS WAY ...

A way is one of the functions below. MARKS is a folder that remembers which have been gone. With "into_queue" the
counts go into a queue, and a task `read` writes what it finds there into MARKS/read; it is this one that kills or stops
those who put in, in the midst of it: the queue has little room.
"""

import contextlib
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


def change(kind):
    """Task 0 goes on when another has come, which does nothing until it is taken away."""
    if "changes" not in WAYS:
        return
    if ME.endswith("index0"):
        if is_first(f"{kind}-waits"):
            wait_for(f"{kind}-came")
    elif is_first(f"{kind}-came"):
        wait_for("never")


def dawdle():
    """So that there is work as long as somebody is to be struck."""
    if "slow" in WAYS:
        time.sleep(0.01)


def words(line):
    change("map")
    dawdle()
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
    change("reduce")
    dawdle()
    if "dies_reducing" in WAYS and word == "and" and is_first("reduce"):
        die()
    mapreduce.count("words seen")
    return sum(counts)


def reducers():
    """The process numbers that `reduce` tasks have left, each told once."""
    for mark in sorted(pathlib.Path(MARKS).glob("pid-*")):
        pid = int(mark.read_text())
        mark.unlink()
        yield pid


def disturb(num_read, stopped):
    """What the reader does to those who put in, when it has so many."""
    if "dies_putting" in WAYS and num_read in (10, 100):
        for pid in reducers():
            os.kill(pid, signal.SIGKILL)
    if "stops_putting" in WAYS and num_read == 10:
        stopped.append(next(reducers()))
        os.kill(stopped[0], signal.SIGSTOP)
    if "stops_putting" in WAYS and num_read == 200:
        os.kill(stopped[0], signal.SIGCONT)


def read(results, config):
    server = tf.train.Server(config.cluster_spec, config.task_type, config.task_id)
    taken, lines, stopped = results.queue().dequeue(), [], []
    with tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:read"])) as session:
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                word, count = session.run(taken)
                lines.append(f"{word.decode()}\t{count.decode()}\n")
                disturb(len(lines), stopped)
                dawdle()
    pathlib.Path(MARKS, "read").write_text("".join(lines))
    print(f"read {len(lines)}")


def show(line):
    """What the owner says, which is also where it may die: in the midst of the job."""
    print(line, flush=True)
    if "dies_while_others_put_in" in WAYS and "put into the queue" in line and is_first("late"):
        die()
    if "dies_owning_late" in WAYS and "partitions reduced" in line and is_first("late owner"):
        die()
    if "dies_owning" in WAYS and not line.startswith("0 of") and is_first("owner"):
        die()


def die_before_acknowledging(lease):
    """The report is there, and nobody has heard that the piece is done."""
    if "dies_after_its_report" in WAYS and is_first(f"ack-{ME}"):
        die()
    acknowledge(lease)


tf.queue.Lease.ack = die_before_acknowledging
output = OUTPUT
if "into_queue" in WAYS:
    config = tf.estimator.RunConfig()
    output = mapreduce.Queue(OUTPUT, "counts", task="/job:read/task:0", capacity=4)
    if config.task_type == "read":
        read(output, config)
        sys.exit()
    if config.task_type == "reduce":
        pathlib.Path(MARKS, f"pid-{config.task_id}").write_text(str(os.getpid()))
result = mapreduce.run(
    mapreduce.Lines(TEXTS, split=200),
    words,
    output,
    reduce=total,
    combine=mapreduce.add,
    lease=1 if WAYS & {"stops", "stops_putting", "changes", "slow"} else 30,
    backups=0 if "hangs" in WAYS else None,
    attempts=3 if "always_dies" in WAYS else 20,
    memory=1 << 12,
    say=show,
    pause=0,
)
if result:
    print(f"lines {result.counters['lines seen']} words {result.counters['words seen']}")

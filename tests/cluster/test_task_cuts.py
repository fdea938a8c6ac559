"""The task queue while workers are killed and stopped, and their ways to the broker break in the midst of what they say.

MILLRACE_SEED repeats when that is, MILLRACE_CUT_SECONDS says for how long.
"""

import collections
import os
import random
import signal
import sys
import time

from bounds import DEADLINE, ROOT
from cutting_proxy import CuttingProxy
from millrace import tasks

LENGTH = 3  # of a chain


class Job:
    """A broker, and two workers that reach it by a proxy."""

    def __init__(self, cluster, folder):
        self._cluster, self._folder = cluster(broker=1), folder
        self._cluster.serve("broker")
        address = self._cluster.address("broker")
        self.way = CuttingProxy(address)
        self.app = tasks.App(f"grpc://{address}", lease=1.0, patience=DEADLINE)
        self.workers = [self.started() for _ in range(2)]

    def started(self):
        paths = [str(ROOT / "tests" / "cluster"), os.environ.get("PYTHONPATH", "")]
        return self._cluster.start(
            "worker",
            0,
            [
                sys.executable,
                "-m",
                "millrace.tasks",
                "work",
                "task_functions:app",
                "--threads",
                "2",
            ],
            PYTHONPATH=os.pathsep.join(paths),
            TASKS_BROKER=self.way.at,
            TASKS_FOLDER=str(self._folder),
        )

    def harm(self, draw):
        """Something happens to the way, or to a worker."""
        chance = draw.random()
        if chance < 0.6:
            self.way.cut_within(draw.randrange(1, 3000))
        elif chance < 0.8:
            self.way.cut(abruptly=draw.random() < 0.5)
        elif chance < 0.9:
            struck = draw.randrange(len(self.workers))
            self.workers[struck].signal(signal.SIGKILL)
            self.workers[struck].wait()
            self.workers[struck] = self.started()
        else:
            struck = draw.choice(self.workers)
            struck.signal(signal.SIGSTOP)
            time.sleep(1.5)  # longer than its lease
            struck.signal(signal.SIGCONT)

    def chain(self, value):
        link = tasks.Signature(self.app, "note", ())
        first = tasks.Signature(self.app, "note", (value,))
        return tasks.Chain(first, *[link] * (LENGTH - 1))


def test_calls_are_run_and_links_are_sent_once_while_all_breaks(cluster, tmp_path):
    seed = int(os.environ.get("MILLRACE_SEED", random.randrange(1 << 32)))
    print(f"MILLRACE_SEED={seed}")
    draw = random.Random(seed)
    job = Job(cluster, tmp_path)
    sent = []
    end = time.monotonic() + float(os.environ.get("MILLRACE_CUT_SECONDS", 8))
    while time.monotonic() < end:
        sent.append(tasks.Group(job.chain(1000 * len(sent) + i) for i in range(20)).send())
        time.sleep(draw.uniform(0.05, 0.3))
        job.harm(draw)
    for i, group in enumerate(sent):
        assert group.get(DEADLINE) == [1000 * i + k + LENGTH for k in range(20)]

    notes = collections.Counter((tmp_path / "notes").read_text().splitlines())
    print(f"{len(sent)} groups, {job.way.cuts} cuts, {sum(notes.values())} attempts")
    # Whoever is lent a call has an attempt of his own: two of one number would be two calls.
    assert set(notes.values()) == {1}, [note for note in notes if notes[note] > 1]
    assert len({note.split()[0] for note in notes}) == 20 * LENGTH * len(sent)
    wait_until_settled(job.app, 20 * LENGTH * len(sent))
    job.way.close()
    job.app.close()


def wait_until_settled(app, count):
    """Until all calls have ended well, and nothing waits or is lent."""
    end = time.monotonic() + DEADLINE
    while True:
        states, _, _ = app.broker.list()
        if app.broker.sizes() == (0, 0, 0):
            break
        assert time.monotonic() < end, app.broker.sizes()
        time.sleep(0.05)
    assert len(states) == count
    assert all(b"SUCCESS" in text for text in states.values())

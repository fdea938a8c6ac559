"""A MapReduce into a queue whose mappers and reducers are killed and stopped at random: each count is there once.

MILLRACE_SEED repeats who is struck, MILLRACE_KILLS says how often.
"""

import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from bounds import DEADLINE, ROOT
from launched_job import LaunchedJob

PROGRAMS = {
    "python": [sys.executable, ROOT / "tests" / "cluster" / "counting_job.py"],
    "cpp": [ROOT / "build" / "test-bin" / "counting_job"],
}
VICTIMS = [("map", 0), ("map", 1), ("reduce", 0), ("reduce", 1)]
JOB = """
roles:
  files: 1
  map: {count: 2, restart: {pause: 100ms, longest_pause: 200ms, budget: 1000}}
  reduce: {count: 2, restart: {pause: 100ms, longest_pause: 200ms, budget: 1000}}
  read: 1
until: [files, read]
"""


class Struck:
    """A job, and strikes at it while it runs."""

    def __init__(self, folder, program, chance):
        self._chance = chance
        self._marks = folder / "marks"
        self._marks.mkdir()
        (folder / "texts").mkdir()
        lines = [f"{i} to be or not to be {i % 7}\n" for i in range(300)]
        (folder / "texts" / "a.txt").write_text("".join(lines))
        self.expected = collections.Counter("".join(lines).split())
        words = [*program, folder / "texts" / "*.txt", folder / "made", self._marks]
        self._job = LaunchedJob(folder, JOB, [*words, "into_queue", "slow"])
        self._lives = dict.fromkeys(VICTIMS, 1)
        self._asleep = []  # (when to wake it, its number)

    def run(self, strikes):
        """What the reader has found."""
        end = time.monotonic() + 2 * DEADLINE  # one that is never there is never struck
        try:
            while strikes and time.monotonic() < end and self._job.process.poll() is None:
                time.sleep(self._chance.uniform(0.1, 0.4))
                self._wake(time.monotonic())
                strikes -= self._strike(self._chance.choice(VICTIMS))
            self._wake(float("inf"))
            code = self._job.process.wait(timeout=2 * DEADLINE)
            assert code == 0, self._job.output()
            assert not self._job.left_behind(), self._job.output()
            return (self._marks / "read").read_text().splitlines()
        except subprocess.TimeoutExpired:
            pytest.fail(f"it does not end:\n{self._job.output()}")
        finally:
            self._job.stop()

    def _strike(self, task):
        """1, or 0 if the task is not there now."""
        number = self._lives[task]
        pid = self._job.process_of(self._job.attempt(task, number))
        if pid is None:
            return 0
        kill = self._chance.random() < 0.7
        print(f"{'kills' if kill else 'stops'} {task[0]}:{task[1]}, life {number}")
        if kill:
            os.kill(pid, signal.SIGKILL)
            self._lives[task] += 1
        else:
            os.kill(pid, signal.SIGSTOP)
            self._asleep.append((time.monotonic() + 1.5, pid))  # longer than its lease
        return 1

    def _wake(self, now):
        for when, pid in self._asleep:
            if when <= now:
                with contextlib.suppress(ProcessLookupError):  # killed meanwhile
                    os.kill(pid, signal.SIGCONT)
        self._asleep = [(when, pid) for when, pid in self._asleep if when > now]


@pytest.mark.parametrize("language", PROGRAMS)
def test_each_result_is_in_the_queue_once_whoever_is_struck(tmp_path, language):
    program = PROGRAMS[language]
    if not program[-1].exists():
        pytest.skip(f"{program[-1]} is missing: build the tests (make build)")
    seed = int(os.environ.get("MILLRACE_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"MILLRACE_SEED={seed}")
    struck = Struck(tmp_path, program, random.Random(seed))
    read = struck.run(int(os.environ.get("MILLRACE_KILLS", "8")))
    found = {word: int(count) for word, count in (line.split("\t") for line in read)}
    assert len(read) == len(found), "a word was in the queue twice"
    assert found == struck.expected

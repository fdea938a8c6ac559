"""Every task of a word count is killed, those too that own the queue and the total: the total is exact.

MILLRACE_SEED repeats a run, MILLRACE_KILLS says how many tasks are killed.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from bounds import DEADLINE, ROOT
from launched_job import LaunchedJob

PROGRAM = ROOT / "tests" / "cluster" / "kept_word_count.py"
OWNERS = [("files", 0), ("reduce", 0)]
MAPPERS = [("map", i) for i in range(3)]

JOB = """
roles:
  files: {{restart: {again}}}
  reduce: {{restart: {again}}}
  map: {{count: 3, restart: {again}}}
  watch: 1
until: [watch, map]
once: true
state: {folder}/state
env: {{MILLRACE_ONCE_LEASE_MS: "1000"}}
"""
AGAIN = "{pause: 100ms, longest_pause: 200ms, budget: 1000}"


class Chaos:
    def __init__(self, folder, chance, kills):
        self._chance = chance
        self._victims = [*OWNERS, *(chance.choice(OWNERS + MAPPERS) for _ in range(kills - 2))]
        chance.shuffle(self._victims)
        self._count = 20 + 12 * kills
        self.words = sum(100 + i for i in range(self._count))
        names = [folder / f"text_{i}.txt" for i in range(self._count)]
        for i, name in enumerate(names):
            name.write_text("word " * (100 + i))
        texts = folder / "texts"
        texts.write_text("".join(f"{name}\n" for name in names))
        command = [sys.executable, "-u", PROGRAM, "--texts", texts, "--pause", "0.2"]
        # So that there is work as long as somebody is to be killed.
        command += ["--last", names[-1]]
        self._go = folder / f"{names[-1].name}.go"
        self._job = LaunchedJob(folder, JOB.format(again=AGAIN, folder=folder), command)
        self._attempts = {name: [self._job.attempt(name, 1)] for name in OWNERS + MAPPERS}

    def run(self):
        try:
            for victim in self._victims:
                self._wait_for_progress(self._chance.randrange(1, 6))
                time.sleep(self._chance.uniform(0.0, 0.2))  # anywhere in what it does
                self._kill(victim)
            self._go.touch()
            return self._finish()
        finally:
            self._job.stop()

    def _counted(self):
        lives = [attempt for name in MAPPERS for attempt in self._attempts[name]]
        return sum(attempt.output().count(" words in ") for attempt in lives)

    def _wait_for_progress(self, texts):
        goal = min(self._counted() + texts, self._count - 1)
        end = time.monotonic() + DEADLINE
        while self._counted() < goal:
            assert self._job.process.poll() is None, f"it has ended:\n{self._story()}"
            assert time.monotonic() < end, f"nobody goes on:\n{self._story()}"
            time.sleep(0.02)

    def _kill(self, name):
        lives = self._attempts[name]
        print(f"kills {name[0]}:{name[1]} after {self._counted()} texts")
        os.kill(self._job.wait_for_process(lives[-1]), signal.SIGKILL)
        lives.append(self._job.attempt(name, len(lives) + 1))

    def _finish(self):
        try:
            code = self._job.process.wait(timeout=4 * DEADLINE)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it does not end:\n{self._story()}")
        assert code == 0, self._story()
        assert not self._job.left_behind(), self._story()
        told = self._job.attempt(("watch", 0), 1).output()
        found = re.search(r"^total: (\d+) words, 0 dead letters$", told, re.MULTILINE)
        assert found, f"{told}\n{self._story()}"
        return int(found.group(1))

    def _story(self):
        lives = [attempt for each in self._attempts.values() for attempt in each]
        lives.append(self._job.attempt(("watch", 0), 1))
        ends = [f"--- {a.task}, life {a.number}\n{a.output()[-1500:]}" for a in lives]
        return "\n".join([self._job.output(), *ends])


def test_the_total_is_exact_though_the_tasks_that_own_the_queue_and_the_total_die(tmp_path):
    seed = int(os.environ.get("MILLRACE_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"MILLRACE_SEED={seed}")
    chaos = Chaos(tmp_path, random.Random(seed), int(os.environ.get("MILLRACE_KILLS", "6")))
    assert chaos.run() == chaos.words

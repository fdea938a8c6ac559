"""The seed's word count under `millrace run --once`, while its mappers are killed and stopped at random.

    . build/env.sh && python3 tests/cluster/once_chaos.py --strikes 60 --files 200

The program is the example, to the byte. A mapper that is killed takes nothing with it: it is started again,
and the name it had is lent again. One that is stopped for longer than its lease loses the name to another,
and both count the file once. What was done, and when, is printed, with the seed that repeats it.
"""

import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bounds import DEADLINE, ROOT  # noqa: E402
from launched_job import LaunchedJob  # noqa: E402

HERE = ROOT / "tests" / "cluster"
PROGRAM = ROOT / "examples" / "seed_word_count.py"
LEASE = 1.0  # seconds
MAPPERS = 3

JOB = """
roles:
  files: 1
  reduce: 1
  map: {{count: {mappers}, restart: {{pause: 100ms, longest_pause: 200ms, budget: 1000}}}}
  watch: {{command: [{python}, {watcher}]}}
until: [watch, map]
directory: {folder}
env:
  MILLRACE_ONCE_LEASE_MS: "{lease}"
  HURRIED_MARK: "{folder}/mark"
  PYTHONPATH: "{path}"
"""


class Chaos:
    """A job over so many files, and so many strikes at its mappers while there is work."""

    def __init__(self, folder, seed, strikes, files, once=True, say=print):
        self._random = random.Random(seed)
        self._say = say
        self._strikes = strikes
        self.words = self._write_files(folder, files)
        text = JOB.format(
            mappers=MAPPERS,
            python=sys.executable,
            watcher=HERE / "total_watcher.py",
            folder=folder,
            lease=int(1000 * LEASE),
            path=os.pathsep.join([str(HERE / "hurried"), os.environ.get("PYTHONPATH", "")]),
        )
        say(f"chaos of counting once, seed {seed}")
        self._began = time.monotonic()
        flags = ["--once"] if once else []
        self._job = LaunchedJob(folder, text, [sys.executable, "-u", PROGRAM], flags)
        self._attempts = {i: self._job.attempt(("map", i), 1) for i in range(MAPPERS)}
        self.kills, self.stops = 0, 0

    def _write_files(self, folder, count):
        """`count` files with a number of words each that tells which are missing; all their words."""
        words, names = 0, []
        for i in range(count):
            path = folder / f"text_{i}.txt"
            path.write_text("word " * (1000 + i))
            names.append(f"{path}\n")
            words += 1000 + i
        (folder / "filenames.txt").write_text("".join(names))
        return words

    def run(self):
        """The total that the job has counted; all that must hold besides is checked."""
        try:
            self._wait_for_beginning()
            while self.kills + self.stops < self._strikes and self._is_running():
                self._strike()
            self._say(f"{self._now()} calm")
            return self._finish()
        finally:
            self._job.stop()

    def _wait_for_beginning(self):
        """Until `files` and `reduce`, which nobody starts again, have sessions: those need all tasks."""
        end = time.monotonic() + DEADLINE
        while not any(" words in " in each.output() for each in self._attempts.values()):
            assert self._is_running(), f"the job has ended:\n{self._job.output()}"
            assert time.monotonic() < end, "\n".join(self._story(i) for i in self._attempts)
            time.sleep(0.02)

    def _strike(self):
        index = self._random.randrange(MAPPERS)
        stops = self._random.random() < 0.4
        rest = self._random.uniform(0.0, 0.5)
        pid = self._working(index)
        if pid is None:
            time.sleep(0.05)
            return
        time.sleep(rest)  # anywhere in what it does
        try:
            if stops:
                self._say(f"{self._now()} stops map:{index} for {2 * LEASE:.1f} s")
                os.kill(pid, signal.SIGSTOP)
                self.stops += 1
                time.sleep(2 * LEASE)
                os.kill(pid, signal.SIGCONT)
                return
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # it found no more work
        self._say(f"{self._now()} kills map:{index}")
        self.kills += 1
        self._attempts[index] = self._job.attempt(("map", index), self._attempts[index].number + 1)

    def _working(self, index):
        """The process of a mapper that has said something; None if it or the job has ended."""
        end = time.monotonic() + DEADLINE
        while "listens on" not in self._attempts[index].output():
            self._follow(index)
            if not self._is_running():
                return None
            assert time.monotonic() < end, f"map:{index} does not begin:\n{self._story(index)}"
            time.sleep(0.02)
        return self._job.process_of(self._attempts[index])

    def _follow(self, index):
        """To the next attempt, if this one has ended by itself: the total was not there yet, say."""
        following = self._job.attempt(("map", index), self._attempts[index].number + 1)
        if following.has_begun():
            self._attempts[index] = following

    def _is_running(self):
        return self._job.process.poll() is None

    def _finish(self):
        try:
            code = self._job.process.wait(timeout=4 * DEADLINE)
        except subprocess.TimeoutExpired:
            stories = "\n".join(self._story(i) for i in self._attempts)
            raise AssertionError(
                f"the job does not end:\n{self._job.output()}\n{stories}"
            ) from None
        told = self._job.output()
        assert code == 0, f"the job ended with {code}:\n{told}"
        assert not self._job.left_behind(), f"processes are left\n{told}"
        watch = self._job.attempt(("watch", 0), 1).output()
        found = re.search(r"^total: (\d+) words, 0 dead letters$", watch, re.MULTILINE)
        assert found, f"no total:\n{watch}\n{told}"
        return int(found.group(1))

    def _story(self, index):
        attempt = self._attempts[index]
        lines = attempt.output().splitlines()
        return f"--- map:{index}, attempt {attempt.number}\n" + "\n".join(lines[-25:])

    def _now(self):
        return f"{time.monotonic() - self._began:6.2f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strikes", type=int, default=60)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--not-once", action="store_true", help="see what is lost without")
    options = parser.parse_args()
    seed = random.randrange(1 << 30) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        chaos = Chaos(folder, seed, options.strikes, options.files, once=not options.not_once)
        total = chaos.run()
    print(f"{chaos.kills} killed, {chaos.stops} stopped; counted {total} of {chaos.words} words")
    sys.exit(total != chaos.words)


if __name__ == "__main__":
    main()

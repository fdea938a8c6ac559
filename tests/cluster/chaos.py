"""Training whose tasks are killed and stopped at random, until it has gone on long enough.

    . build/env.sh && python3 tests/cluster/chaos.py --seconds 60 --mode sync

`millrace run` starts every task that is killed again. What was done, and when, is printed, with the seed
that repeats it. `Chaos` says what must hold at the end: the loss has fallen, nobody ended but by a signal of
ours, the launcher told of each such end, whoever lived through the death of a ps said why its session was
lost, no step was lost in silence, the job ended well, and nobody is left.
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

PROGRAM = ROOT / "tests" / "cluster" / "trainer.py"
MODES = {
    "async": [],
    "sync": ["--sync"],
    "lockstep": ["--lockstep"],
    "bounded": ["--bounded", "3"],
    "all-reduce": ["--all-reduce"],
}
WORKERS = 3
RESTART = "{budget: 1000, pause: 100ms, longest_pause: 500ms}"


class Broken(AssertionError):
    """What must hold does not."""


class Life:
    """What became of one attempt of a task."""

    def __init__(self, attempt):
        self.name, self.attempt = attempt.task, attempt
        self.killed = False
        self.losses_of_ps = 0  # how often the ps was killed while this trained
        self.new_chiefs = 0  # and the chief, who restores the checkpoint for all when it is back

    def steps(self):
        return [
            (int(step), float(loss))
            for step, loss in re.findall(r"^step (\d+) loss (\S+)", self.attempt.output(), re.M)
        ]


class Chaos:
    """A training job and what befalls it: so many strikes, with steps between them, or for so long."""

    def __init__(self, folder, mode, seed, strikes=None, seconds=None, say=print):
        self._random = random.Random(seed)
        self._say = say
        self._strikes, self._seconds = strikes, seconds
        ps = {} if mode == "all-reduce" else {"ps": 1}
        roles = {**ps, "worker": WORKERS}
        self._names = [(role, i) for role, count in roles.items() for i in range(count)]
        self._until = folder / "finished"
        command = [sys.executable, PROGRAM, "--until", self._until]
        command += ["--checkpoints", folder / "checkpoints", *MODES[mode]]
        lines = [f"  {role}: {{count: {n}, restart: {RESTART}}}" for role, n in roles.items()]
        text = "\n".join(["roles:", *lines, "until: worker", ""])
        say(f"chaos of {mode}, seed {seed}")
        self._began = time.monotonic()
        self._job = LaunchedJob(folder, text, command)
        self._lives = {name: Life(self._job.attempt(name, 1)) for name in self._names}  # by task
        self._past = []

    def run(self):
        """The losses of the first and the last step. Raises Broken."""
        try:
            return self._run()
        finally:
            self._job.stop()

    def _run(self):
        self._wait(self._all_train, "all to train")
        # Whoever came first began with what nobody had changed.
        first = max(life.steps()[0][1] for life in self._workers())
        for _ in range(self._strikes or 0):
            self._wait_for_steps(self._random.randrange(20))
            self._strike()
        end = time.monotonic() + (self._seconds or 0.0)
        while time.monotonic() < end:
            self._pause(self._random.uniform(0.5, 2.5))
            self._strike()
        self._say(f"{self._now()} calm")
        self._fresh = {name: len(life.steps()) for name, life in self._lives.items()}
        self._wait(self._all_go_on, "all to go on")
        # A ps that came back may have begun anew, so how many steps that takes nobody knows.
        self._wait(lambda: self._newest_loss() < first / 2, f"the loss to fall from {first}")
        last = self._newest_loss()
        self._finish()
        self._check_explanations()
        self._check_resets()
        return first, last

    def _strike(self):
        name = self._random.choice(self._names)
        life = self._lives[name]
        stops = self._random.random() < 0.4
        rest = self._random.uniform(0.1, 1.0)
        pid = self._job.wait_for_process(life.attempt)
        if stops:
            self._say(f"{self._now()} stops {name[0]}:{name[1]} for {rest:.1f} s")
            os.kill(pid, signal.SIGSTOP)
            self._pause(rest)
            os.kill(pid, signal.SIGCONT)
            return
        self._say(f"{self._now()} kills {name[0]}:{name[1]}")
        life.killed = True
        if name == ("worker", 0):
            for other in self._lives.values():
                other.new_chiefs += 1
        if name[0] == "ps":
            for other in self._lives.values():
                other.losses_of_ps += bool(other.name != name and other.steps())
        os.kill(pid, signal.SIGKILL)
        self._past.append(life)
        self._lives[name] = Life(self._job.attempt(name, life.attempt.number + 1))
        # A chief that is still to come restores the checkpoint in the life that begins now.
        self._lives[name].new_chiefs += not self._lives["worker", 0].steps()

    def _pause(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(0.02)

    def _look(self):
        """Nobody may end but by our hand."""
        for life in self._lives.values():
            if self._job.attempt(life.name, life.attempt.number + 1).has_begun():
                raise Broken(f"{life.name} has ended, and not by us:\n{self._story(life)}")
        if self._job.process.poll() is not None:
            raise Broken(f"the job has ended:\n{self._job.output()}")

    def _wait(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            self._look()
            if time.monotonic() > end:
                stories = "\n".join(self._story(life) for life in self._lives.values())
                raise Broken(f"{self._now()} waited in vain for {what}:\n{stories}")
            time.sleep(0.05)

    def _wait_for_steps(self, count):
        """Until one of the workers has gone so many further; others may be coming back meanwhile."""
        before = [(life, len(life.steps())) for life in self._workers()]

        def gone():
            return max(len(life.steps()) - steps for life, steps in before)

        self._wait(lambda: gone() >= count, f"{count} steps")

    def _workers(self):
        return [life for life in self._lives.values() if life.name[0] == "worker"]

    def _all_train(self):
        return all(len(life.steps()) > 2 for life in self._workers())

    def _all_go_on(self):
        return all(len(life.steps()) > self._fresh[life.name] + 2 for life in self._workers())

    def _newest_loss(self):
        return self._lives["worker", 0].steps()[-1][1]

    def _finish(self):
        self._until.touch()
        try:
            code = self._job.process.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            stories = "\n".join(self._story(life) for life in self._lives.values())
            raise Broken(f"the job does not end:\n{self._job.output()}\n{stories}") from None
        told = self._job.output()
        restarts = len(re.findall(r"SIGKILL \(signal 9\).*; starts again", told))
        if code != 0 or restarts != len(self._past):
            raise Broken(f"{len(self._past)} tasks were killed; the job ended with {code}:\n{told}")
        if self._past and f" with {restarts} restart" not in told.splitlines()[-1]:
            raise Broken(f"{restarts} restarts are not in the last line:\n{told}")
        if left := self._job.left_behind():
            raise Broken(f"processes are left: {left}\n{told}")

    def _check_explanations(self):
        for life in [*self._past, *self._lives.values()]:
            told = life.attempt.output().count("the session was lost: ")
            # One word may do for two deaths in a row; a task that was killed itself may not get to it.
            if life.losses_of_ps and not told and not life.killed:
                raise Broken(f"{life.name} lost its ps and did not say so:\n{self._story(life)}")

    def _check_resets(self):
        """Global steps go down only where a line between them says why, or a chief came back."""
        for life in [*self._past, *self._lives.values()]:
            reached, explained, chiefs = -1, False, life.new_chiefs
            for line in life.attempt.output().splitlines():
                explained |= "the session was lost: " in line or "Restoring parameters" in line
                found = re.match(r"step (\d+) loss", line)
                if not found:
                    continue
                if int(found.group(1)) < reached and not explained:
                    chiefs -= 1
                    if chiefs < 0:
                        raise Broken(f"{life.name} went from step {reached} to {line}, silently")
                reached, explained = int(found.group(1)), False

    def _story(self, life):
        lines = life.attempt.output().splitlines()
        return f"--- {life.name}, {len(life.steps())} steps\n" + "\n".join(lines[-25:])

    def _now(self):
        return f"{time.monotonic() - self._began:6.2f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=MODES, default="async")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.randrange(1 << 30) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        first, last = Chaos(folder, options.mode, seed, seconds=options.seconds).run()
    print(f"the loss was {first} and is {last}")


if __name__ == "__main__":
    main()

"""Training whose tasks are killed and stopped at random, until it has gone on long enough.

    . build/env.sh && python3 tests/cluster/chaos.py --seconds 60 --mode sync

Every task that is killed is started again, as a launcher does. What was done, and when, is printed, with the
seed that repeats it. `Chaos` says what must hold at the end: the loss has fallen, each task ended well or by
a signal of ours, whoever lived through the death of a ps said why its session was lost, no step was lost in
silence, and nobody is left.
"""

import argparse
import pathlib
import random
import re
import signal
import sys
import tempfile
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bounds import DEADLINE, ROOT  # noqa: E402
from started_tasks import Cluster  # noqa: E402

PROGRAM = ROOT / "tests" / "cluster" / "trainer.py"
MODES = {
    "async": [],
    "sync": ["--sync"],
    "lockstep": ["--lockstep"],
    "all-reduce": ["--all-reduce"],
}


class Broken(AssertionError):
    """What must hold does not."""


class Life:
    """One process of a task, from its start to its end."""

    def __init__(self, name, task):
        self.name, self.task = name, task
        self.killed = False
        self.losses_of_ps = 0  # how often the ps was killed while this trained
        self.new_chiefs = 0  # and the chief, who restores the checkpoint for all when it is back

    def steps(self):
        return [
            (int(step), float(loss))
            for step, loss in re.findall(r"^step (\d+) loss (\S+)", self.task.output(), re.M)
        ]


class Chaos:
    """A training job and what befalls it."""

    def __init__(self, folder, mode, seconds, seed, say=print):
        self._random = random.Random(seed)
        self._say = say
        self._seconds = seconds
        ps = {} if mode == "all-reduce" else {"ps": 1}
        self._cluster = Cluster(folder, {**ps, "worker": 3})
        self._until = folder / "finished"
        self._command = [sys.executable, PROGRAM, "--until", self._until]
        self._command += ["--checkpoints", folder / "checkpoints", *MODES[mode]]
        self._lives = {}  # by task
        self._past = []
        say(f"chaos of {mode} for {seconds} s, seed {seed}")

    def run(self):
        """The losses of the first and the last step. Raises Broken."""
        self._began = time.monotonic()
        for name in self._cluster.names():
            self._start(name)
        try:
            return self._run()
        finally:
            self._cluster.stop()

    def _run(self):
        self._wait(self._all_train, "all to train")
        # Whoever came first began with what nobody had changed.
        first = max(life.steps()[0][1] for life in self._workers())
        end = time.monotonic() + self._seconds
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

    def _start(self, name):
        self._lives[name] = Life(name, self._cluster.start(*name, self._command))

    def _strike(self):
        name = self._random.choice(self._cluster.names())
        life = self._lives[name]
        if self._random.random() < 0.4:
            rest = self._random.uniform(0.1, 1.0)
            self._say(f"{self._now()} stops {name[0]}:{name[1]} for {rest:.1f} s")
            life.task.signal(signal.SIGSTOP)
            self._pause(rest)
            life.task.signal(signal.SIGCONT)
            return
        self._say(f"{self._now()} kills {name[0]}:{name[1]}")
        life.killed = True
        if name == ("worker", 0):
            for other in self._lives.values():
                other.new_chiefs += 1
        if name[0] == "ps":
            for other in self._lives.values():
                other.losses_of_ps += bool(other.name != name and other.steps())
        life.task.signal(signal.SIGKILL)
        life.task.wait()
        self._past.append(life)
        self._pause(self._random.uniform(0.0, 0.5))
        self._start(name)

    def _pause(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(0.02)

    def _look(self):
        """Nobody may end but by our hand."""
        for life in self._lives.values():
            if not life.killed and life.task.process.poll() is not None:
                raise Broken(
                    f"{life.name} has ended with {life.task.process.poll()}:\n{self._story(life)}"
                )

    def _wait(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            self._look()
            if time.monotonic() > end:
                stories = "\n".join(self._story(life) for life in self._lives.values())
                raise Broken(f"{self._now()} waited in vain for {what}:\n{stories}")
            time.sleep(0.05)

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
        end = time.monotonic() + DEADLINE
        for life in self._workers():
            while life.task.process.poll() is None:
                if time.monotonic() > end:
                    raise Broken(f"{life.name} does not end:\n{self._story(life)}")
                time.sleep(0.02)
            if life.task.process.returncode != 0:
                raise Broken(f"{life.name} ended badly:\n{self._story(life)}")
        for life in self._lives.values():
            if life.name[0] != "ps":
                continue
            life.task.signal(signal.SIGTERM)
            life.task.wait()

    def _check_explanations(self):
        for life in [*self._past, *self._lives.values()]:
            told = life.task.output().count("the session was lost: ")
            # One word may do for two deaths in a row; a task that was killed itself may not get to it.
            if life.losses_of_ps and not told and not life.killed:
                raise Broken(f"{life.name} lost its ps and did not say so:\n{self._story(life)}")

    def _check_resets(self):
        """Global steps go down only where a line between them says why, or a chief came back."""
        for life in [*self._past, *self._lives.values()]:
            reached, explained, chiefs = -1, False, life.new_chiefs
            for line in life.task.output().splitlines():
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
        lines = life.task.output().splitlines()
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
        first, last = Chaos(pathlib.Path(folder), options.mode, options.seconds, seed).run()
    print(f"the loss was {first} and is {last}")


if __name__ == "__main__":
    main()

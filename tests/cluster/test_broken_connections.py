"""The seed's word count under MILLRACE_ONCE, while the connections between its tasks break again and again.

No line of the program is changed, and it knows nothing of broken connections: a mapper whose step fails by one
ends, and is started again. MILLRACE_SEED repeats when the cuts are, MILLRACE_CUT_SECONDS says for how long.
"""

import os
import random
import re
import sys
import time

import millrace as tf

from bounds import DEADLINE, ROOT
from cutting_proxy import CuttingProxy

PROGRAM = ROOT / "examples" / "seed_word_count.py"
HURRIED = ROOT / "tests" / "cluster" / "hurried"
MAPPERS = 2


class CutJob:
    """The tasks of the word count, each behind a proxy for all others."""

    def __init__(self, tasks, folder, count):
        self._tasks, self._folder = tasks, folder
        self.proxies = {name: CuttingProxy(tasks.address(*name)) for name in tasks.names()}
        self.words = sum(1000 + i for i in range(count))
        names = [folder / f"text_{i}.txt" for i in range(count)]
        for i, name in enumerate(names):
            name.write_text("word " * (1000 + i))
        (folder / "filenames.txt").write_text("".join(f"{name}\n" for name in names))
        self.lives = {name: [self._start(name)] for name in tasks.names()}
        self.cuts = 0

    def _start(self, task):
        def address(job, index):
            name = (job, index)
            return self._tasks.address(*name) if name == task else self.proxies[name].at

        spec = {
            job: [address(job, index) for index in range(count)]
            for job, count in self._tasks.jobs.items()
        }
        command = ["env", "-C", self._folder, sys.executable, "-u", PROGRAM]
        return self._tasks.start(
            *task,
            command,
            spec=spec,
            MILLRACE_ONCE="1",
            MILLRACE_ONCE_LEASE_MS="1000",
            HURRIED_MARK=str(self._folder / "mark"),
            PYTHONPATH=os.pathsep.join([str(HURRIED), os.environ.get("PYTHONPATH", "")]),
        )

    def counted(self):
        return sum(life.output().count(" words in ") for _, life in self._mappers())

    def _mappers(self):
        return [
            (i, life) for (job, i), lives in self.lives.items() for life in lives if job == "map"
        ]

    def cut(self, chance):
        """Each of the ways at this moment, in the midst of what is said next on it, or not."""
        for proxy in self.proxies.values():
            how = chance.random()
            if how < 0.3:
                self.cuts += proxy.cut(abruptly=how < 0.15)
            elif how < 0.8:
                proxy.cut_within(chance.randrange(2000))

    def cut_in_each_way(self):
        """Whatever chance brings later: connections that there are, and some in the midst of what is said."""

        def some_are_cut():
            assert not self.look_after()
            self.cuts += sum(proxy.cut(abruptly=True) for proxy in self.proxies.values())
            return self.cuts > 0

        def some_are_cut_within():
            assert not self.look_after()
            return self.cuts_within() > 0

        self.wait_until(some_are_cut, "nobody is connected")
        for proxy in self.proxies.values():
            proxy.cut_within(0)
        self.wait_until(some_are_cut_within, "nothing is said")

    def cuts_within(self):
        return sum(proxy.cuts for proxy in self.proxies.values())

    def leave_in_peace(self):
        for proxy in self.proxies.values():
            proxy.cut_within(None)

    def look_after(self):
        """Starts mappers again that have failed, as a launcher does; True once all have ended well."""
        codes = []
        for name, lives in self.lives.items():
            code = lives[-1].process.poll()
            if name[0] != "map":
                assert code is None, f"{name} has ended with {code}:\n{lives[-1].output()}"
                continue
            codes.append(code)
            if code not in (None, 0):
                lives.append(self._start(name))
        return all(code == 0 for code in codes)

    def wait_until(self, condition, what):
        end = time.monotonic() + 2 * DEADLINE
        while not condition():
            assert time.monotonic() < end, f"{what}:\n{self.story()}"
            time.sleep(0.05)

    def story(self):
        return "\n".join(
            f"--- {name}, life {number}\n{life.output()[-1500:]}"
            for name, lives in self.lives.items()
            for number, life in enumerate(lives, 1)
        )

    def total(self):
        """As the task has it that owns it, asked without a proxy."""
        filters = tf.ConfigProto(device_filters=["/job:reduce"])
        with tf.Graph().as_default(), tf.device("/job:reduce/task:0"):
            total = tf.Variable(0, name="total")
            target = f"grpc://{self._tasks.address('reduce')}"
            with tf.Session(target, config=filters) as session:
                return session.run(total)

    def close(self):
        for proxy in self.proxies.values():
            proxy.close()


def test_the_total_is_exact_though_connections_break(cluster, tmp_path):
    seed = int(os.environ.get("MILLRACE_SEED", random.SystemRandom().randrange(1 << 30)))
    seconds = float(os.environ.get("MILLRACE_CUT_SECONDS", "8"))
    print(f"MILLRACE_SEED={seed}")
    chance = random.Random(seed)
    count = int(10 + 3 * seconds)
    job = CutJob(cluster(files=1, reduce=1, map=MAPPERS), tmp_path, count)
    try:
        # Sessions of `files` and `reduce` begin when all tasks are there, and these two begin once.
        job.wait_until(job.counted, "nobody begins to count")
        job.cut_in_each_way()
        calm = time.monotonic() + seconds
        # A mapper that ends well says so to the others, once: who does not hear it waits for it.
        while time.monotonic() < calm and job.counted() < count - 4 * MAPPERS:
            assert not job.look_after()
            job.cut(chance)
            time.sleep(chance.uniform(0.2, 2.0))
        job.leave_in_peace()
        job.wait_until(job.look_after, "the mappers do not come to an end")
        lives = sum(len(lives) for (name, _), lives in job.lives.items() if name == "map")
        print(f"{job.cuts} connections cut, {job.cuts_within()} in a message, {lives} lives")
        assert job.total() == job.words, job.story()
        told = "".join(life.output() for lives in job.lives.values() for life in lives)
        counted = set(re.findall(r"words in (\S+)", told))
        assert len(counted) == count
    finally:
        job.close()

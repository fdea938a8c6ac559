"""Owner, standby and witness over ways that are cut, and on disks that fail: what was acknowledged is there, once."""

import collections
import os
import random
import re
import resource
import sys
import time

import millrace as tf

from bounds import DEADLINE
from cutting_proxy import CuttingProxy
from started_tasks import millrace_command
from test_kept_state import UNHEEDING, kill
from test_standby import PS, WITNESS, Counter, Load, Pair, wait_for_count


class CutPair(Pair):
    """Each task is known by an address where a proxy listens, and binds the same port of another loopback address."""

    def __init__(self, cluster, folder):
        tasks = cluster(chief=1, ps=1, spare=1)
        real = {job: tasks.address(job) for job in ("chief", "ps", "spare")}
        tasks.spec = {job: [at.replace("127.0.0.1", "127.0.0.2")] for job, at in real.items()}
        self.ways = {job: CuttingProxy(at, tasks.address(job)) for job, at in real.items()}
        super().__init__(lambda **_: tasks, folder)
        # Clients are not what is to be cut here.
        self.target = f"grpc://{real['chief']}"

    def _start(self, job, folder, *more, **environment):
        return super()._start(job, folder, "--bind", "127.0.0.1", *more, **environment)

    def close(self):
        for way in self.ways.values():
            way.close()


def check_one_owner_for_each_reign(sides):
    """Each reign was begun once, by one of the two."""
    began = re.compile(r"owns the state of \S+ term (\d+)")
    reigns = collections.Counter(
        number for side in sides for number in began.findall(side.output())
    )
    assert reigns and set(reigns.values()) == {1}, reigns


def test_ways_that_are_cut_in_the_midst_of_messages_lose_and_double_nothing(cluster, tmp_path):
    seed = int(os.environ.get("MILLRACE_SEED", random.randrange(1 << 32)))
    print(f"MILLRACE_SEED={seed}")
    chance = random.Random(seed)
    pair = CutPair(cluster, tmp_path)
    sides = pair.both()
    load = Load(pair)
    for _ in range(int(os.environ.get("MILLRACE_CUTS", 30))):
        way = pair.ways[chance.choice(["chief", "ps", "ps", "spare", "spare"])]
        if chance.random() < 0.7:
            way.cut_within(chance.randrange(1, 4000))
        else:
            way.cut(abruptly=chance.random() < 0.5)
        load.go_on(chance.randrange(1, 10))
    for way in pair.ways.values():
        way.cut_within(None)
    load.go_on(30)
    load.check()
    check_one_owner_for_each_reign(sides)
    cuts = {job: way.cuts for job, way in pair.ways.items()}
    print(cuts)
    assert sum(cuts.values()) > 0
    pair.close()


def test_ways_that_are_closed_for_a_while_one_way_or_the_other_lose_and_double_nothing(
    cluster, tmp_path
):
    pair = CutPair(cluster, tmp_path)
    sides = pair.both()
    load = Load(pair)
    load.go_on(30)
    # To the standby, which hears nothing; to whoever owns the state; to the witness; to both sides.
    for closed in (["spare"], ["ps"], ["chief"], ["ps", "spare"]):
        for job in closed:
            pair.ways[job].bar(True)
        time.sleep(2.5)
        for job in closed:
            pair.ways[job].bar(False)
        load.go_on(30)
    load.check()
    check_one_owner_for_each_reign(sides)
    pair.close()


class FullPair(Pair):
    """`full`: the folder of the side whose disk takes files of 200 kB and no longer ones."""

    def __init__(self, cluster, folder, full):
        self._full = full
        super().__init__(cluster, folder, patience=2000)

    def _start(self, job, folder, *more, **environment):
        if folder != self._full:
            return super()._start(job, folder, *more, **environment)
        command = [sys.executable, "-c", UNHEEDING, millrace_command(), "serve"]
        command += ["--state", self.folder / folder, "--witness", WITNESS]
        command += ["--suspect-after-ms", self._patience, *more]
        limits = {resource.RLIMIT_FSIZE: 200_000}
        return self.tasks.start(job, 0, command, spec=self.spec, limits=limits, **environment)


class Names:
    """Puts long names into a queue of the owner's."""

    def __init__(self, target):
        self._counter = Counter(target)
        with self._counter._graph.as_default(), tf.device(PS):
            queue = tf.FIFOQueue(-1, [tf.string], shapes=[()], shared_name="long")
            self._name = tf.placeholder(tf.string, [])
            self._put, self._size, self._take = (
                queue.enqueue(self._name),
                queue.size(),
                queue.dequeue(),
            )
        self.acknowledged, self.refused, self.reasons = [], [], []

    def put(self):
        name = f"{len(self.acknowledged) + len(self.refused):04}" + "x" * 1000
        try:
            self._counter.run(self._put, {self._name: name})
            self.acknowledged.append(name)
        except tf.errors.ResourceExhaustedError as problem:
            self.refused.append(name)
            self.reasons.append(str(problem))

    def check(self):
        size = self._counter.run_until_answered(self._size)
        found = [self._counter.run(self._take).decode() for _ in range(size)]
        assert len(set(found)) == len(found), "an element was there twice"
        assert set(self.acknowledged) <= set(found) <= set(self.acknowledged + self.refused)


def test_an_owner_whose_disk_is_full_refuses_with_words_and_its_standby_has_the_rest(
    cluster, tmp_path
):
    pair = FullPair(cluster, tmp_path, full="first")
    first, second = pair.both()
    names = Names(pair.target)
    while len(names.refused) < 5:
        names.put()
        assert len(names.acknowledged) < 1000, "the disk is never full"
    assert len(names.acknowledged) > 100
    for reason in names.reasons:
        assert "keeping the state in" in reason and "File too large" in reason
    kill(first)
    second.wait_for("serving")
    names.check()


def test_a_standby_whose_disk_is_full_ends_with_words_and_the_owner_goes_on_alone(
    cluster, tmp_path
):
    pair = FullPair(cluster, tmp_path, full="second")
    first, second = pair.both()
    names = Names(pair.target)
    end = time.monotonic() + DEADLINE
    while second.process.poll() is None:
        names.put()
        assert time.monotonic() < end, "the disk is never full"
    assert second.wait() == 1
    assert f"keeping the state of {PS.replace('/task', '/replica:0/task')}" in second.output()
    assert "File too large" in second.output()
    for _ in range(20):
        names.put()
    assert not names.refused
    # One with room takes its place.
    pair._full = None
    third = pair.standby()
    third.wait_for("standing by")
    wait_for_count(first, "stands by", 2)
    names.put()
    kill(first)
    names.check()

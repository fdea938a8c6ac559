"""`millrace serve --stands-by-for`: a second task takes over what the first one has acknowledged."""

import itertools
import signal
import threading
import time

import millrace as tf
import pytest

from bounds import DEADLINE
from started_tasks import millrace_command
from test_kept_state import LOST, Reconnecting, kill

PS = "/job:ps/task:0"
WITNESS = "/job:chief/task:0"


class Pair:
    """A witness, which is also the clients' master, an owner, and a standby at an address of its own."""

    def __init__(self, cluster, folder, patience=1000, **of_chief):
        self._patience = patience
        # Nobody but the standby knows of its port.
        self.tasks = cluster(chief=1, ps=1, spare=1)
        self.spec = {job: self.tasks.spec[job] for job in ("chief", "ps")}
        self.folder = folder
        self.chief = self.witness(**of_chief)
        self.target = f"grpc://{self.tasks.address('chief')}"

    def _start(self, job, folder, *more, **environment):
        command = [millrace_command(), "serve", "--state", self.folder / folder]
        command += ["--witness", WITNESS, "--suspect-after-ms", self._patience, *more]
        return self.tasks.start(job, 0, command, spec=self.spec, **environment)

    def witness(self, **environment):
        task = self._start("chief", "chief", **environment)
        task.wait_for("serving")
        return task

    def owner(self):
        return self._start("ps", "first")

    def standby(self):
        at = self.tasks.address("spare")
        return self._start("ps", "second", "--stands-by-for", PS, "--at", at)

    def both(self):
        """When the standby has all, and is waited for."""
        first = self.owner()
        first.wait_for("serving")
        second = self.standby()
        second.wait_for("standing by")
        first.wait_for("stands by")
        return first, second


class Counter(Reconnecting):
    """A sum and a queue of the owner's, by whatever session can be had."""

    def __init__(self, target):
        super().__init__(target)
        with self._graph.as_default(), tf.device(PS):
            self.total = tf.Variable(tf.constant(0, tf.int64), name="total")
            self.add = tf.assign_add(self.total, tf.constant(1, tf.int64)).op
            names = tf.FIFOQueue(-1, [tf.int64], shapes=[()], shared_name="names")
            self.name = tf.placeholder(tf.int64, [])
            self.put, self.size, self.take = names.enqueue(self.name), names.size(), names.dequeue()
            self.begin = self.total.initializer


class Adder(threading.Thread):
    """Adds and puts names into the queue until it is told to stop; notes what was acknowledged."""

    def __init__(self, number, target, until):
        super().__init__(daemon=True)
        self._number, self._until = number, until
        self._counter = Counter(target)
        self.added = self.unknown = 0
        self.put, self.tried = set(), set()
        self.failure = None

    def run(self):
        try:
            for step in itertools.count():
                if self._until.is_set():
                    return
                self._add()
                self._put(1_000_000 * self._number + step)
                # So that no step but the ones that were under way is in doubt.
                self._counter.run_until_answered(self._counter.size)
        except Exception as problem:  # noqa: BLE001: told by the test's own thread
            self.failure = problem

    def _add(self):
        try:
            self._counter.run(self._counter.add)
            self.added += 1
        except LOST:
            self.unknown += 1

    def _put(self, name):
        self.tried.add(name)
        try:
            self._counter.run(self._counter.put, {self._counter.name: name})
            self.put.add(name)
        except LOST:
            pass


def wait_for_count(task, text, least):
    end = time.monotonic() + DEADLINE
    while task.output().count(text) < least:
        assert time.monotonic() < end, f"never printed {text!r}:\n{task.output()}"
        time.sleep(0.02)


class Load:
    def __init__(self, pair):
        self.checker = Counter(pair.target)
        self.checker.run_until_answered(self.checker.begin)
        self._until = threading.Event()
        self.adders = [Adder(number, pair.target, self._until) for number in range(3)]
        for adder in self.adders:
            adder.start()

    def added(self):
        return sum(adder.added for adder in self.adders)

    def go_on(self, more):
        """Until so many more additions were acknowledged."""
        goal = self.added() + more
        end = time.monotonic() + DEADLINE
        while self.added() < goal:
            assert all(a.failure is None for a in self.adders), [a.failure for a in self.adders]
            assert time.monotonic() < end, "the clients did not go on"
            time.sleep(0.005)

    def check(self):
        """What was acknowledged is there, once."""
        self._until.set()
        for adder in self.adders:
            adder.join(DEADLINE)
            assert not adder.is_alive() and adder.failure is None
        total = self.checker.run_until_answered(self.checker.total)
        assert self.added() <= total <= self.added() + sum(a.unknown for a in self.adders)
        size = self.checker.run(self.checker.size)
        left = [self.checker.run(self.checker.take) for _ in range(size)]
        assert len(set(left)) == len(left), "an element was there twice"
        put, tried = (set().union(*(getattr(a, w) for a in self.adders)) for w in ("put", "tried"))
        assert put <= set(left) <= tried
        print(f"{self.added()} additions and {len(put)} elements acknowledged")


def test_a_standby_serves_what_was_acknowledged_when_the_owner_is_killed(cluster, tmp_path):
    # So long that a machine under load makes nobody think the owner gone before it is.
    pair = Pair(cluster, tmp_path, patience=5000)
    first, second = pair.both()
    counter = Counter(pair.target)
    counter.run_until_answered(counter.begin)
    for number in range(20):
        counter.run(counter.add)
        counter.run(counter.put, {counter.name: number})
    killed = time.monotonic()
    kill(first)
    assert counter.run_until_answered(counter.total) == 20
    print(f"answered {time.monotonic() - killed:.2f} s after the owner was killed")
    assert counter.run(counter.size) == 20
    assert [counter.run(counter.take) for _ in range(20)] == list(range(20))
    second.wait_for("serving")


def test_owner_and_standby_are_killed_in_turn_under_load_and_nothing_acknowledged_is_lost(
    cluster, tmp_path
):
    pair = Pair(cluster, tmp_path)
    sides = list(pair.both())
    start = [pair.owner, pair.standby]
    load = Load(pair)
    for turn in range(3):
        load.go_on(30)
        kill(sides[turn % 2])
        sides[1 - turn % 2].wait_for("serving")
        # Whoever comes back joins, and may be followed by the other one again.
        sides[turn % 2] = start[turn % 2]()
        load.go_on(30)
        sides[turn % 2].wait_for("standing by")
        wait_for_count(sides[1 - turn % 2], "stands by", 1)
    load.check()


def test_an_owner_that_was_stopped_and_goes_on_acknowledges_nothing_and_stands_by(
    cluster, tmp_path
):
    pair = Pair(cluster, tmp_path)
    first, second = pair.both()
    load = Load(pair)
    load.go_on(30)
    first.signal(signal.SIGSTOP)
    second.wait_for("serving")
    load.go_on(30)
    stale = Counter(f"grpc://{pair.tasks.address('ps')}")
    first.signal(signal.SIGCONT)
    # Straight to it: it has a sum of its own, and may not show it.
    with pytest.raises(LOST):
        stale.run(stale.total)
    wait_for_count(first, "standing by", 1)
    wait_for_count(second, "stands by", 1)
    load.go_on(30)
    kill(second)
    load.go_on(30)
    load.check()


def test_an_owner_goes_on_alone_when_its_standby_is_killed_and_with_its_own_disk_when_it_is_too(
    cluster, tmp_path
):
    pair = Pair(cluster, tmp_path)
    first, second = pair.both()
    load = Load(pair)
    load.go_on(30)
    kill(second)
    load.go_on(30)
    kill(first)
    # It has not got all: it may not serve, however long nobody else does.
    second = pair.standby()
    second.wait_for("standing by")
    time.sleep(2.5)
    assert "serving" not in second.output()
    first = pair.owner()
    first.wait_for("serving")
    first.wait_for("stands by")
    load.go_on(30)
    load.check()


def test_while_the_witness_is_down_owner_and_standby_go_on_and_it_remembers(cluster, tmp_path):
    # Of a task that is only slow nobody is to think anything here.
    pair = Pair(cluster, tmp_path, patience=5000)
    first, second = pair.both()
    counter = Counter(f"grpc://{pair.tasks.address('ps')}")
    counter.run_until_answered(counter.begin)
    kill(pair.chief)
    for _ in range(10):
        counter.run(counter.add)
    kill(first)
    time.sleep(7)
    assert "serving" not in second.output()
    pair.witness()
    second.wait_for("serving")
    counter = Counter(pair.target)
    assert counter.run_until_answered(counter.total) == 10


def test_a_session_that_counts_once_goes_on_at_the_standby(cluster, tmp_path):
    pair = Pair(cluster, tmp_path, MILLRACE_ONCE="1")
    first, _ = pair.both()
    with tf.Graph().as_default() as graph, tf.device(PS):
        work = tf.FIFOQueue(-1, [tf.int64], shapes=[()], shared_name="work")
        fill = work.enqueue_many([tf.range(tf.constant(40, tf.int64))])
        take, close = work.dequeue(), work.close()
        total = tf.Variable(tf.constant(0, tf.int64), name="total")
        add = tf.assign_add(total, tf.placeholder_with_default(tf.constant(1, tf.int64), [])).op
    with tf.Session(pair.target, graph=graph) as session:
        session.run([total.initializer, fill])
        session.run(close)
        taken = []
        while True:
            try:
                taken.append(session.run(take))
            except tf.errors.OutOfRangeError:
                break
            session.run(add)
            if len(taken) == 20:
                kill(first)
        assert sorted(taken) == list(range(40))
        assert session.run(total) == 40

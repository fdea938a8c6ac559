"""`millrace serve --state`: tasks that are killed again and again go on with what they had."""

import itertools
import os
import random
import resource
import signal
import sys
import threading
import time

import millrace as tf
import pytest

from bounds import DEADLINE
from started_tasks import millrace_command

# What a step that was under way when its task died may fail with: whether it was made, nobody knows.
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.InternalError,
)


# Past its limit a file is refused more bytes, as by a full disk, if the signal is not heeded that would
# end the process.
UNHEEDING = """
import os, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


def start(tasks, folder, most_bytes=None):
    command = [millrace_command(), "serve", "--state", folder / "state"]
    limits = None
    if most_bytes is not None:
        command = [sys.executable, "-c", UNHEEDING, *command]
        limits = {resource.RLIMIT_FSIZE: most_bytes}
    task = tasks.start("state", 0, command, limits=limits)
    task.wait_for("serving")
    return task


def kill(task):
    task.signal(signal.SIGKILL)
    task.wait()


class Reconnecting:
    """A graph of its own, run by whatever session can be had."""

    def __init__(self, target):
        self._target, self._session = target, None
        self._graph = tf.Graph()

    def run(self, fetches, feeds=None):
        try:
            if self._session is None:
                self._session = tf.Session(self._target, graph=self._graph)
            return self._session.run(fetches, feeds)
        except LOST:
            # The session went with the task; the next one finds the task that comes.
            self._session = None
            raise

    def run_until_answered(self, fetches, feeds=None):
        """For what may be done twice."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                return self.run(fetches, feeds)
            except LOST:
                assert time.monotonic() < end, "the task never came back"
                time.sleep(0.01)


class Program(Reconnecting):
    """One client's graph: a queue of names and a sum, which the task keeps."""

    def __init__(self, target):
        super().__init__(target)
        with self._graph.as_default(), tf.device("/job:state/task:0"):
            queue = tf.FIFOQueue(-1, [tf.string], shapes=[()], shared_name="names")
            total = tf.Variable(tf.constant(0, tf.int64), name="total")
            self.name = tf.placeholder(tf.string, [])
            self.put, self.take = queue.enqueue(self.name), queue.dequeue()
            self.size = queue.size()
            self.total, self.add = total, tf.assign_add(total, tf.constant(1, tf.int64)).op
            self.begin = total.initializer


class Client(threading.Thread):
    """Puts names in, takes names out, and counts; notes what was acknowledged and what nobody knows."""

    def __init__(self, number, target, until):
        super().__init__(daemon=True)
        self._number, self._until = number, until
        self._program = Program(target)
        self.put, self.tried, self.taken = set(), set(), []
        self.takes_unknown, self.added, self.adds_unknown = 0, 0, 0
        self.failure = None

    def done(self):
        return len(self.put) + len(self.taken) + self.added

    def run(self):
        try:
            for step in itertools.count():
                if self._until.is_set():
                    return
                self._work(step)
                # So that no step but the one that was under way is in doubt.
                self._program.run_until_answered(self._program.size)
        except Exception as problem:  # noqa: BLE001: told by the test's own thread
            self.failure = problem

    def _work(self, step):
        name = f"{self._number}-{step}"
        if step % 3 == 0:
            self.tried.add(name)
            if self._try(self._program.put, {self._program.name: name}) is not LOST:
                self.put.add(name)
        elif step % 3 == 1:
            made = self._try(self._program.add) is not LOST
            self.added += made
            self.adds_unknown += not made
        elif step % 2:  # so that the queue grows
            taken = self._try(self._program.take)
            if taken is LOST:
                self.takes_unknown += 1
            else:
                self.taken.append(taken.decode())

    def _try(self, fetches, feeds=None):
        try:
            return self._program.run(fetches, feeds)
        except LOST:
            return LOST


def wait_for(condition, clients, what):
    end = time.monotonic() + DEADLINE
    while not condition():
        for client in clients:
            assert client.failure is None, client.failure
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.002)


def test_a_task_that_is_killed_in_the_midst_of_updates_has_each_acknowledged_one_once(
    cluster, tmp_path
):
    seed = int(os.environ.get("MILLRACE_SEED", random.randrange(1 << 32)))
    print(f"MILLRACE_SEED={seed}")
    chance = random.Random(seed)
    tasks = cluster(state=1)
    target = f"grpc://{tasks.address('state')}"
    task = start(tasks, tmp_path)
    checker = Program(target)
    checker.run_until_answered(checker.begin)

    until = threading.Event()
    clients = [Client(number, target, until) for number in range(4)]
    for client in clients:
        client.start()
    for _ in range(int(os.environ.get("MILLRACE_KILLS", 12))):
        goal = sum(client.done() for client in clients) + chance.randrange(1, 60)
        wait_for(lambda: sum(c.done() for c in clients) >= goal, clients, "the clients to go on")
        kill(task)
        task = start(tasks, tmp_path)
    until.set()
    for client in clients:
        client.join(DEADLINE)
        assert not client.is_alive() and client.failure is None
    kill(task)
    task = start(tasks, tmp_path)

    total = checker.run_until_answered(checker.total)
    left = [checker.run(checker.take).decode() for _ in range(checker.run(checker.size))]
    added = sum(client.added for client in clients)
    assert added <= total <= added + sum(client.adds_unknown for client in clients)
    taken = [name for client in clients for name in client.taken]
    put, tried = (set().union(*(getattr(c, which) for c in clients)) for which in ("put", "tried"))
    assert len(set(left + taken)) == len(left + taken), "an element was there twice"
    assert set(left + taken) <= tried
    # A dequeue whose answer was lost has taken at most one.
    lost = put - set(left + taken)
    assert len(lost) <= sum(client.takes_unknown for client in clients), lost
    print(f"{added} additions, {len(put)} elements, {len(taken)} taken, {len(lost)} by lost steps")


def test_a_full_disk_refuses_with_words_and_what_was_acknowledged_is_there_when_it_has_room(
    cluster, tmp_path
):
    tasks = cluster(state=1)
    program = Program(f"grpc://{tasks.address('state')}")
    task = start(tasks, tmp_path, most_bytes=200_000)
    program.run_until_answered(program.begin)
    acknowledged, refused, reasons = [], [], []
    # What was refused first may still fit into a file that begins anew; then nothing does.
    while len(refused) < 5:
        name = f"{len(acknowledged) + len(refused):04}" + "x" * 1000
        try:
            program.run(program.put, {program.name: name})
            acknowledged.append(name)
        except tf.errors.ResourceExhaustedError as problem:
            refused.append(name)
            reasons.append(str(problem))
        assert len(acknowledged) < 1000, "the disk is never full"
    assert len(acknowledged) > 100
    for reason in reasons:
        assert "keeping the state in" in reason and "File too large" in reason
    with pytest.raises(tf.errors.ResourceExhaustedError):
        program.run(program.add)
    # With room in memory, too: the elements that are taken out make the state small again.
    for _ in range(50):
        try:
            program.run(program.take)
        except tf.errors.ResourceExhaustedError:
            continue
        break
    program.run(program.add)
    kill(task)
    start(tasks, tmp_path)
    size = program.run_until_answered(program.size)
    found = [program.run(program.take).decode() for _ in range(size)]
    tried = sorted(acknowledged + refused)
    # Some were taken from the front; of the rest all that was acknowledged is there, in order.
    assert found == tried[-len(found) :] and len(tried) - len(found) <= 51
    assert program.run(program.total) == 2


def test_a_task_whose_state_is_damaged_or_taken_does_not_serve(cluster, tmp_path):
    tasks = cluster(state=1)
    program = Program(f"grpc://{tasks.address('state')}")
    task = start(tasks, tmp_path)
    program.run_until_answered(program.begin)
    command = [millrace_command(), "serve", "--state", tmp_path / "state"]
    second = tasks.start("state", 0, command, spec={"state": ["127.0.0.1:0"]})
    assert second.wait() == 1
    assert "lock; another process has it locked" in second.output()
    task.signal(signal.SIGTERM)
    assert task.wait() == 0
    (journal,) = (tmp_path / "state" / "state-0").glob("journal-*")
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 1
    journal.write_bytes(content)
    third = tasks.start("state", 0, command)
    assert third.wait() == 1
    assert "nothing is read" in third.output() and journal.name in third.output()
    assert journal.read_bytes() == content

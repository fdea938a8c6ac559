"""Elements that a queue lends to a program that says so: acknowledged, given back, lost, given up."""

import contextlib
import gc
import threading
import time
import weakref

import pytest

import millrace as tf
from millrace._run import leases
from millrace._run.leases import Heartbeats


class Numbers:
    """A queue of numbers, a total of them, and how to add one."""

    def __init__(self, lease=100, attempts=0, **queue):
        self.queue = tf.FIFOQueue(-1, [tf.int32], shapes=[()], **queue)
        self.number = tf.placeholder(tf.int32, [])
        self.put = self.queue.enqueue(self.number)
        self.close = self.queue.close()
        self.take = self.queue.dequeue(lease=lease, attempts=attempts)
        self.total = tf.Variable(0, name="total", use_resource=True)
        self.add = tf.assign_add(self.total, self.number)
        self.add_too = tf.assign_add(self.total, self.number)
        self.counts = self.queue.lease_counts()
        self.initialize = tf.global_variables_initializer()

    def fill(self, session, *numbers):
        session.run(self.initialize)
        for number in numbers:
            session.run(self.put, {self.number: number})
        session.run(self.close)


def test_what_is_acknowledged_is_not_lent_again(session):
    numbers = Numbers()
    numbers.fill(session, 5, 6)
    seen = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            lease = session.run(numbers.take)
            assert isinstance(lease, tf.queue.Lease) and lease.attempt == 1
            seen.append(lease.value)
            lease.ack()
            lease.ack()  # does nothing
            assert not lease.is_held
    assert seen == [5, 6]
    assert session.run(numbers.counts) == (0, 0)


def test_what_is_given_back_is_lent_again_as_the_next_attempt(session):
    numbers = Numbers()
    numbers.fill(session, 5)
    first = session.run(numbers.take)
    assert session.run(numbers.counts) == (1, 0)
    first.give_back()
    second = session.run(numbers.take)
    assert (second.value, second.attempt) == (5, 2)


def test_a_block_acknowledges_at_its_end_and_gives_back_what_failed(session):
    numbers = Numbers()
    numbers.fill(session, 5)
    with pytest.raises(ZeroDivisionError):
        with session.run(numbers.take) as lease:
            session.run(numbers.add, {numbers.number: lease.value})
            raise ZeroDivisionError
    with session.run(numbers.take) as lease:
        assert lease.attempt == 2
        session.run(numbers.add, {numbers.number: lease.value})
        session.run(numbers.total)  # has no number, so the next step is known all the same
        session.run(numbers.add_too, {numbers.number: lease.value})
    assert session.run(numbers.total) == 10
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(numbers.take)


def test_each_step_of_a_block_is_made_once_however_it_is_run(session):
    numbers = Numbers()
    numbers.fill(session, 5)
    call = session.make_callable(numbers.add, [numbers.number])
    for attempt in (1, 2):
        with pytest.raises(ZeroDivisionError):
            with session.run(numbers.take) as lease:
                assert lease.attempt == attempt
                session.run(numbers.add, {numbers.number: lease.value})
                call(lease.value)
                session.run(numbers.add, {numbers.number: 5}, options=tf.RunOptions())
                raise ZeroDivisionError
    assert session.run(numbers.total) == 15
    session.run(numbers.add, {numbers.number: 1})  # outside of the block: as often as it is run
    session.run(numbers.add, {numbers.number: 1})
    assert session.run(numbers.total) == 17


def test_a_step_that_failed_keeps_its_number_for_when_it_is_made_again(session):
    numbers = Numbers()
    numbers.fill(session, 5)
    flag = tf.placeholder(tf.bool, [])
    with tf.control_dependencies([numbers.add]):
        checked = tf.Assert(flag, ["not yet"])
    with session.run(numbers.take):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {numbers.number: 5, flag: False})
        session.run(numbers.add_too, {numbers.number: 100})
        session.run(checked, {numbers.number: 5, flag: True})
    assert session.run(numbers.total) == 105


def test_other_threads_are_not_in_the_block(session):
    numbers = Numbers()
    numbers.fill(session, 5)

    def add_twice():
        session.run(numbers.add, {numbers.number: 1})
        session.run(numbers.add, {numbers.number: 1})

    with session.run(numbers.take) as lease:
        session.run(numbers.add, {numbers.number: 10})
        other = threading.Thread(target=add_twice)
        other.start()
        other.join()
        assert lease.is_held
    assert session.run(numbers.total) == 12


def test_monitored_sessions_lend_too_and_their_hooks_do_not_shift_the_steps(session):
    """A hook that runs a step of its own before every step of the first attempt, as timers of hooks may."""
    numbers = Numbers(shared_name="numbers_of_monitored")
    server = tf.train.Server.create_local_server()
    creator = tf.train.WorkerSessionCreator(master=server.target)

    class Looks(tf.train.SessionRunHook):
        def before_run(self, run_context):
            run_context.session.run(numbers.total)

    with tf.Session(server.target) as owner:
        numbers.fill(owner, 5)
        for attempt, hooks in ((1, [Looks()]), (2, [])):
            with tf.train.MonitoredSession(creator, hooks=hooks) as monitored:
                lease = monitored.run(numbers.take)
                assert lease.attempt == attempt
                with contextlib.suppress(ZeroDivisionError), lease:
                    monitored.run(numbers.add, {numbers.number: 5})
                    monitored.run(numbers.add_too, {numbers.number: 5})
                    raise ZeroDivisionError
        assert owner.run(numbers.total) == 10


def test_what_came_back_too_often_is_a_dead_letter(session):
    numbers = Numbers(attempts=2)
    letter = numbers.queue.dead_letter()
    numbers.fill(session, 5)
    for _ in range(2):
        session.run(numbers.take).give_back()
    assert session.run(numbers.counts) == (0, 1)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(numbers.take)
    assert session.run(letter) == 5
    with pytest.raises(tf.errors.OutOfRangeError, match="has no dead letters"):
        session.run(letter)


def test_a_closed_session_gives_back_what_it_held_and_its_lease_says_so(session):
    server = tf.train.Server.create_local_server()
    numbers = Numbers(shared_name="numbers_of_two")
    with tf.Session(server.target) as owner:
        numbers.fill(owner, 5)
        with tf.Session(server.target) as first:
            lease = first.run(numbers.take)
        with pytest.raises(RuntimeError, match="closed Session"):
            lease.ack()
        assert owner.run(numbers.take).attempt == 2


def test_the_loss_of_a_lease_is_told_at_the_next_use(session):
    numbers = Numbers()
    numbers.fill(session, 5)
    kept = session.run(numbers.take)
    assert kept.extend()
    # Somebody else ends it, as its time does when no heartbeat comes through.
    session.run(numbers.take.given_back, {numbers.take.fed: kept._bytes})
    assert not kept.extend()
    with pytest.raises(tf.errors.FailedPreconditionError, match="attempt 1. is lost"):
        kept.ack()
    with pytest.raises(tf.errors.FailedPreconditionError, match="is lost"):
        with kept:
            pass
    kept.give_back()  # there is nothing to give
    again = session.run(numbers.take)
    assert again.attempt == 2
    again.ack()


class CountedLease:
    """A lease that is over with its third heartbeat."""

    seconds = 0.03

    def __init__(self):
        self.beats, self.is_over = 0, threading.Event()

    def extend(self):
        self.beats += 1
        if self.beats == 3:
            self.is_over.set()
        return self.beats < 3


def test_heartbeats_are_made_until_a_lease_is_over_and_begin_again_with_the_next():
    heartbeats = Heartbeats()
    for lease in (CountedLease(), CountedLease()):
        heartbeats.keep(lease)
        assert lease.is_over.wait(60)
    heartbeats.end()
    assert [lease.beats] == [3]


def test_a_lease_that_nobody_holds_any_more_is_let_go():
    heartbeats, lease = Heartbeats(), CountedLease()
    lease.seconds = 1e6
    gone = weakref.ref(lease)
    heartbeats.keep(lease)
    del lease
    end = time.monotonic() + 60
    while gone() is not None and time.monotonic() < end:  # the thread may look at it just now
        gc.collect()
    assert gone() is None
    heartbeats.end()


def test_elements_of_several_components_and_names_come_as_a_dequeue_gives_them(session):
    queue = tf.FIFOQueue(-1, [tf.int32, tf.string], shapes=[(), ()], names=["number", "word"])
    session.run(queue.enqueue({"number": 5, "word": "five"}))
    take = queue.dequeue(lease=100)
    assert take.value["number"].shape == ()
    lease, size = session.run([take, queue.size()])
    assert lease.value == {"number": 5, "word": b"five"}
    lease.ack()


@pytest.mark.parametrize("seconds", [0, -1, True, float("nan"), 1e9])
def test_leases_without_an_end_or_without_time_are_refused(seconds):
    queue = tf.FIFOQueue(-1, [tf.int32])
    with pytest.raises(ValueError, match="must be seconds, more than 0"):
        queue.dequeue(lease=seconds)
    with pytest.raises(ValueError, match="attempts is -1"):
        queue.dequeue(lease=1, attempts=-1)


def test_a_step_that_each_element_makes_looks_at_its_graph_once(session, monkeypatch):
    numbers = Numbers()
    numbers.fill(session, 5, 6, 7)
    looked = []
    look = leases._updates
    monkeypatch.setattr(leases, "_updates", lambda *step: looked.append(step) or look(*step))
    for expected in (5, 11, 18):
        with session.run(numbers.take) as lease:
            session.run(numbers.add, {numbers.number: lease.value})
            assert session.run(numbers.total) == expected
    assert len(looked) == 2  # one step that updates, one that reads

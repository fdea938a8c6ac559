"""Elements that are lent and updates that are made once, through the ops, planner and sessions."""

import pytest

import millrace as tf
from millrace import _gen as gen_ops


class Leased:
    """A queue of numbers, a total, and the nodes of a program that counts each number once."""

    def __init__(self, takes=True):
        self.queue = tf.FIFOQueue(-1, [tf.int32], shapes=[()], shared_name="leased_numbers")
        self.number = tf.placeholder(tf.int32, [])
        self.put = self.queue.enqueue(self.number)
        self.close = self.queue.close()
        self.take = self.queue.dequeue()
        self.total = tf.Variable(0, name="leased_total", use_resource=True)
        self.add = tf.assign_add(self.total, self.number)
        self.add_taken = tf.assign_add(self.total, self.take)
        self.lease = tf.placeholder(tf.string, [])
        self.step, self.settled = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
        self.numbered = gen_ops.lease_for_step(self.lease, self.step, self.settled)
        self.after = gen_ops.step_lease(self.lease, takes=takes, seconds=100.0)

    def fill(self, session, *numbers):
        session.run(tf.global_variables_initializer())
        for number in numbers:
            session.run(self.put, {self.number: number})
        session.run(self.close)

    def next(self, session, lease=b""):
        """(a number, its lease), after acknowledging another."""
        return session.run([self.take, self.after], {self.lease: lease})

    def count(self, session, number, lease, step=0):
        if lease:
            feeds = {self.lease: lease, self.step: step, self.settled: step}
            lease = session.run(self.numbered, feeds)
        session.run([self.add, self.after], {self.number: number, self.lease: lease})


def test_an_update_is_made_once_for_its_element_however_often_it_is_tried(session):
    counts = Leased()
    counts.fill(session, 5)
    number, lease = counts.next(session)
    for _ in range(3):
        counts.count(session, number, lease)
    assert session.run(counts.total) == 5
    counts.count(session, number, lease, step=1)
    assert session.run(counts.total) == 10


def test_without_a_lease_updates_are_made_as_often_as_they_are_asked_for(session):
    counts = Leased()
    counts.fill(session)
    counts.count(session, 5, b"")
    counts.count(session, 5, b"")
    assert session.run(counts.total) == 10


def test_what_a_closed_session_had_is_lent_to_the_next_and_counts_once(session):
    counts = Leased()
    counts.fill(session, 5, 6)
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as owner:
        counts.fill(owner, 5, 6)
        with tf.Session(server.target) as first:
            number, lease = counts.next(first)
            counts.count(first, number, lease)
        with tf.Session(server.target) as second:
            seen, lease = [], b""
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    number, lease = counts.next(second, lease)
                    seen.append(number)
                    counts.count(second, number, lease)
        assert seen == [5, 6]
        assert owner.run(counts.total) == 11


def test_an_update_in_the_step_that_takes_is_made_under_what_it_took(session):
    counts = Leased()
    counts.fill(session, 5, 6)
    _, lease = session.run([counts.add_taken, counts.after], {counts.lease: b""})
    session.run([counts.add_taken, counts.after], {counts.lease: lease})
    assert session.run(counts.total) == 11


def test_steps_that_take_more_than_one_element_are_refused(session):
    counts = Leased()
    counts.fill(session, 5, 6)
    with pytest.raises(tf.errors.UnimplementedError, match="one element at a time"):
        session.run([counts.queue.dequeue_many(2), counts.after], {counts.lease: b""})
    with pytest.raises(tf.errors.UnimplementedError, match="take two elements in one step"):
        session.run([counts.queue.dequeue(), counts.take, counts.after], {counts.lease: b""})


def test_bytes_that_are_no_lease_are_refused(session):
    counts = Leased()
    counts.fill(session, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="are no lease"):
        counts.count(session, 5, b"nonsense" * 10)

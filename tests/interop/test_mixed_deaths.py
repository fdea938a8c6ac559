"""Tasks of either kind that die and come back, and what the others notice of it."""

import threading
import time

import pytest
import tensorflow as tf

from tasks import DEADLINE

tf1 = tf.compat.v1

GONE = (tf.errors.UnavailableError, tf.errors.AbortedError)


@pytest.fixture
def session(border):
    """A session that is closed once every task is back: TensorFlow's masters wait for them."""
    with border.session() as made:
        yield made
        border.start_again(border.other)


class Watched:
    """A step that waits at `there` for what never comes, and says so at `here` when it does."""

    def __init__(self, border):
        with tf.device(border.here):
            started = tf1.FIFOQueue(5, [tf.int32], [[]], shared_name="started")
        with tf.device(border.there):
            never = tf1.FIFOQueue(5, [tf.int32], [[]]).dequeue()
            pulse = tf.identity(tf1.placeholder_with_default(1, []))
        with tf.device(border.here):
            here = never + 1
        with tf.device(border.there):
            back = tf.identity(here)
        self.step = [started.enqueue(pulse), here, back]
        self.seen = started.dequeue()
        self.ended = None

    def start(self, session):
        def run():
            with pytest.raises(GONE) as caught:
                session.run(self.step)
            self.ended = caught.value

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def join(self):
        self.thread.join(DEADLINE)
        assert self.ended
        return self.ended


def test_a_task_that_dies_in_a_step_is_named_and_the_other_one_serves_on(border, session):
    watched = Watched(border)
    with tf.device(border.here):
        kept = tf1.Variable(5, use_resource=False, name="kept")
    session.run(kept.initializer)
    watched.start(session)
    session.run(watched.seen)
    border.cluster.tasks[border.other].kill()
    assert border.task_name(border.there) in watched.join().message
    assert session.run(kept) == 5
    with tf.Graph().as_default(), tf.device(border.here):
        kept = tf1.Variable(0, use_resource=False, name="kept")
        with border.session(border.only_here()) as another:
            assert another.run(kept) == 5


def test_a_step_on_a_task_that_died_before_fails_and_names_it(border, session):
    with tf.device(border.there):
        there = tf.identity(tf1.placeholder_with_default(1, []))
    with tf.device(border.here):
        here = tf.identity(tf1.placeholder_with_default(2, []))
    assert session.run(there + here) == 3
    border.cluster.tasks[border.other].kill()
    for _ in range(3):
        with pytest.raises(GONE) as caught:
            session.run(there + here)
        assert border.task_name(border.there) in caught.value.message
    assert session.run(here) == 2


def test_a_master_that_dies_leaves_its_worker_to_others_and_its_client_waits_for_it(border):
    watched = Watched(border)
    session = border.session()
    watched.start(session)
    with border.session() as another:
        another.run(watched.seen)
    border.cluster.tasks[border.master].kill()
    with tf.Graph().as_default():
        alone = tf1.ConfigProto(device_filters=[border.there])
        with tf1.Session(border.cluster.target(border.other), config=alone) as another:
            assert another.run(tf.constant(3) + 4) == 7
    border.cluster.start(border.master)
    watched.join()
    with pytest.raises(tf.errors.AbortedError, match="Session .* is not found"):
        session.close()


def run_until_answered(session, fetch):
    """What a step ends with once the task that was started again is reached."""
    deadline = time.monotonic() + DEADLINE
    while True:
        try:
            return session.run(fetch)
        except tf.errors.UnavailableError:  # the connection is not back yet
            assert time.monotonic() < deadline


def test_after_a_restart_the_old_session_is_aborted_and_a_new_one_works(border, session):
    with tf.device(border.there):
        lost = tf1.Variable(1, use_resource=False)
    with tf.device(border.here):
        kept = tf1.Variable(2, use_resource=False)
        total = lost + kept
    session.run([lost.initializer, kept.initializer])
    assert session.run(total) == 3
    border.start_again(border.other)
    # TensorFlow's masters may put the end of their own part of the step before its cause.
    restarted = tf.errors.AbortedError
    if border.master in border.cluster.tensorflow:
        restarted = (tf.errors.AbortedError, tf.errors.CancelledError)
    for _ in range(2):
        with pytest.raises(restarted, match="restarted") as caught:
            run_until_answered(session, total)
        assert border.task_name(border.there) in caught.value.message
    with border.session() as another:
        assert another.run(kept) == 2
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            another.run(total)
        another.run(lost.initializer)
        assert another.run(total) == 3


def test_after_a_restart_of_the_master_its_sessions_are_unknown_and_others_keep_their_state(border):
    with tf.device(border.there):
        kept = tf1.Variable(2, use_resource=False)
    session = border.session()
    session.run(kept.initializer)
    border.start_again(border.master)
    with pytest.raises(tf.errors.AbortedError, match="Session .* is not found"):
        run_until_answered(session, kept)
    with pytest.raises(tf.errors.AbortedError, match="Session .* is not found"):
        session.close()
    with border.session() as another:
        assert another.run(kept) == 2


def test_a_dead_task_that_is_filtered_out_holds_up_nobody(border):
    border.cluster.tasks[border.other].kill()
    with border.session(border.only_here()) as session:
        with tf.device(border.here):
            assert session.run(tf.constant(1) + 1) == 2
        with tf.device(border.there):
            nowhere = tf.constant(1, name="nowhere")
        with pytest.raises(tf.errors.InvalidArgumentError, match="nowhere"):
            session.run(nowhere)


def test_a_session_waits_for_a_task_that_is_still_to_start(border):
    border.cluster.tasks[border.other].kill()
    got = []
    with tf.device(border.there):
        there = tf.identity(tf1.placeholder_with_default(1, []))

    with border.session() as session:
        runner = threading.Thread(target=lambda: got.append(session.run(there)))
        runner.start()
        border.cluster.start(border.other)
        runner.join(DEADLINE)
        assert got == [1]

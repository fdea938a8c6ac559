"""Steps that fail, wait in vain, or are given up, where both sides of the border take part."""

import threading

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(params=["here", "there"])
def sides(request, border):
    """The device where something goes wrong, and the other one."""
    if request.param == "here":
        return border.here, border.there
    return border.there, border.here


class Waiting:
    """A queue at a device, and a step, `take`, that waits there."""

    FAILURES = 5

    def __init__(self, device, name="shared by sessions"):
        with tf.device(device):
            self.queue = tf1.FIFOQueue(100, [tf.float32], [[]], shared_name=name)
            self.take = self.queue.dequeue()
            self.put = self.queue.enqueue([42.0])
            self.fill = self.queue.enqueue_many([[42.0] * (self.FAILURES + 1)])
            self.size = self.queue.size()

    def given_up(self, session, error, *run, **options):
        """Runs a step that fails, several times; true if those that waited at the queue have left.

        Word of the last failure may still be on its way when the client has its answer, so one or two
        may still be there.
        """
        for _ in range(self.FAILURES):
            with pytest.raises(error):
                session.run(*run, **options)
        session.run(self.fill)
        return session.run(self.size) > 1


def failing(kind):
    """A tensor that can't be computed, and the words that say why."""
    if kind == "InvalidArgumentError":
        zero = tf1.placeholder_with_default(0.0, [])
        return tf.debugging.check_numerics(1.0 / zero, "checked here"), "checked here : Tensor had"
    unset = tf1.Variable(1.0, use_resource=False, name="unset")
    return unset + 0.0, "Attempting to use uninitialized value unset"


@pytest.mark.parametrize("kind", ["InvalidArgumentError", "FailedPreconditionError"])
def test_an_error_of_one_side_is_what_the_client_sees_and_ends_the_other(border, sides, kind):
    one, other = sides
    waiting = Waiting(other)
    with tf.device(one):
        risky, words = failing(kind)
        fine = tf.identity(tf1.placeholder_with_default(1.0, []))
    with tf.device(other):
        fails = risky + waiting.take  # waits for the other side and for the queue
        succeeds = fine + waiting.take
    with border.session() as session:
        with pytest.raises(getattr(tf.errors, kind), match=words) as caught:
            session.run(fails)
        assert caught.value.op.device == one
        assert waiting.given_up(session, getattr(tf.errors, kind), fails)
        assert session.run(succeeds) == 43.0


def test_the_end_of_a_queue_of_either_side_is_told_as_what_it_is(border, sides):
    failing, other = sides
    waiting = Waiting(other)
    with tf.device(failing):
        queue = tf1.FIFOQueue(5, [tf.float32], [[]])
        close, put, take = queue.close(), queue.enqueue([1.0]), queue.dequeue()
    with tf.device(other):
        result = take + waiting.take
    with border.session() as session:
        session.run(close)
        assert waiting.given_up(session, tf.errors.OutOfRangeError, result)
        with pytest.raises(tf.errors.CancelledError):
            session.run(put)


def test_an_error_inside_a_loop_that_crosses_ends_the_loop_on_both_sides(border, sides):
    failing, other = sides
    worst = tf1.placeholder(tf.float32, [])

    def body(i, x):
        with tf.device(failing):
            checked = tf.debugging.check_numerics(x / (worst - i), "in the loop")
        return i + 1.0, checked * 0.0 + 1.0

    with tf.device(other):
        _, x = tf1.while_loop(lambda i, _: i < 50.0, body, [tf.constant(0.0), 1.0])
    with border.session() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="in the loop"):
                session.run(x, {worst: 7.0})
            assert session.run(x, {worst: 1000.0}) == 1.0


def test_a_step_that_waits_on_either_side_ends_at_its_time_limit(border, sides):
    waiting = Waiting(sides[0])
    with tf.device(sides[1]):
        result = waiting.take + 1.0
    with border.session() as session:
        brief = tf1.RunOptions(timeout_in_ms=50)
        assert waiting.given_up(session, tf.errors.DeadlineExceededError, result, options=brief)


def test_closing_a_session_ends_its_step_that_waits_on_either_side(border, sides):
    waiting, started = Waiting(sides[0]), Waiting(sides[0], "started")
    with tf.device(sides[1]):
        result = waiting.take + 1.0
    ended = []

    def run():
        with pytest.raises(tf.errors.CancelledError) as caught:
            session.run([result, started.put])
        ended.append(caught.value)

    session = border.session()
    with border.session() as another:
        another.run(tf.constant(1))
        runner = threading.Thread(target=run)
        runner.start()
        another.run(started.take)
        session.close()
        runner.join()
        assert ended


def test_steps_that_fail_leave_nothing_behind_that_later_steps_notice(border, sides):
    failing, other = sides
    command = tf1.placeholder(tf.float32, [])
    with tf.device(failing):
        risky = tf.debugging.check_numerics(1.0 / (1.0 - command), "checked here")
    with tf.device(other):
        result = risky * 2.0
    with border.session() as session:
        for turn in range(50):
            if turn % 2:
                with pytest.raises(tf.errors.InvalidArgumentError, match="checked here"):
                    session.run(result, {command: 1})
            else:
                assert session.run(result, {command: 0}) == 2.0

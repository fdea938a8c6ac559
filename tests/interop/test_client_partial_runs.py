"""Partial runs: one step fed and fetched in several legs."""

import pytest
import tensorflow as tf

from threads import Background

tf1 = tf.compat.v1
errors = tf.errors


@pytest.fixture
def abc(graph):
    """Three placeholders a, b, c; r1 = a + b, r2 = r1 * c."""
    a, b, c = [tf1.placeholder(tf.float32, [], name=name) for name in "abc"]
    r1 = a + b
    return a, b, c, r1, r1 * c


def test_later_feeds_may_depend_on_earlier_fetches(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        first = session.partial_run(handle, r1, {a: 1, b: 2})
        assert first == 3
        assert session.partial_run(handle, r2, {c: first * 10}) == 90


def test_feeds_may_come_one_at_a_time(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        assert session.partial_run(handle, [], {a: 1}) == []
        assert session.partial_run(handle, r1, {b: 2}) == 3
        assert session.partial_run(handle, r2, {c: 7}) == 21


def test_handles_of_one_session_stay_apart(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handles = [session.partial_run_setup([r1, r2], [a, b, c]) for _ in range(5)]
        assert len(set(handles)) == 5
        for i, handle in enumerate(handles):
            assert session.partial_run(handle, r1, {a: i, b: 1}) == i + 1
        for i, handle in reversed(list(enumerate(handles))):
            assert session.partial_run(handle, r2, {c: 2}) == (i + 1) * 2


def test_whole_steps_run_between_the_legs(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        assert session.partial_run(handle, r1, {a: 1, b: 1}) == 2
        assert session.run(r2, {a: 5, b: 5, c: 5}) == 50
        assert session.partial_run(handle, r2, {c: 3}) == 6


def test_a_partial_run_spans_tasks(cluster, graph):
    both = cluster(ps=1, worker=1)
    x, y = [tf1.placeholder(tf.float32, [], name=name) for name in "xy"]
    with tf.device("/job:ps/task:0"):
        there = x + 1
    with tf.device("/job:worker/task:0"):
        here = there * y
    with tf1.Session(both.target("worker")) as session:
        for number in range(3):
            handle = session.partial_run_setup([there, here], [x, y])
            assert session.partial_run(handle, there, {x: number}) == number + 1
            assert session.partial_run(handle, here, {y: 10}) == (number + 1) * 10


def test_what_is_declared_as_a_target_only_runs_too(target, graph):
    x = tf1.placeholder(tf.int32, [])
    v = tf1.Variable(0, use_resource=False)
    store, doubled = tf1.assign(v, x), x * 2
    with tf1.Session(target) as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([store.op, doubled], [x])
        assert session.partial_run(handle, doubled, {x: 8}) == 16
        assert session.run(v) == 8


def test_a_feed_that_was_not_declared_is_refused(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1], [a, b])
        with pytest.raises(errors.InvalidArgumentError, match="c:0"):
            session.partial_run(handle, r1, {a: 1, b: 2, c: 3})


def test_a_fetch_that_was_not_declared_is_refused(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1], [a, b])
        with pytest.raises(errors.InvalidArgumentError, match=r2.name):
            session.partial_run(handle, r2, {a: 1, b: 2})


def test_a_feed_given_twice_is_refused(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        session.partial_run(handle, [], {a: 1})
        with pytest.raises(errors.InvalidArgumentError, match="a:0"):
            session.partial_run(handle, [], {a: 2})


def test_a_fetch_whose_feeds_are_missing_is_refused(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        with pytest.raises(errors.InvalidArgumentError, match="can't be computed from the feeds"):
            session.partial_run(handle, r2, {a: 1, b: 2})


def test_a_handle_ends_with_its_last_leg(target, abc):
    a, b, c, r1, r2 = abc
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([r1], [a, b])
        assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3
        with pytest.raises(errors.InvalidArgumentError, match="Must run PartialRunSetup"):
            session.partial_run(handle, r1, {a: 1, b: 2})


def test_an_error_in_a_leg_reaches_that_leg(target, graph):
    x, y = tf1.placeholder(tf.float32, [None, None]), tf1.placeholder(tf.float32, [])
    bad, good = tf.matmul(x, x, name="bad"), y * 2
    with tf1.Session(target) as session:
        handle = session.partial_run_setup([bad, good], [x, y])
        with pytest.raises(errors.InvalidArgumentError, match="{{node bad}}"):
            session.partial_run(handle, bad, {x: [[1, 2, 3]]})
        handle = session.partial_run_setup([bad, good], [x, y])
        assert session.partial_run(handle, good, {y: 4}) == 8


def test_closing_the_session_ends_unfinished_partial_runs(target, abc, connect):
    a, b, c, r1, r2 = abc
    session = connect(target)
    for _ in range(3):
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3
    Background(session.close).result()

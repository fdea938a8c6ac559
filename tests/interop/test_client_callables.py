"""Callables: the public make_callable, and those that the server keeps (MakeCallable, RunCallable)."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from threads import in_threads

tf1 = tf.compat.v1


def options(feeds=(), fetches=(), targets=()):
    made = config_pb2.CallableOptions()
    made.feed.extend(each.name for each in feeds)
    made.fetch.extend(each.name for each in fetches)
    made.target.extend(each.name for each in targets)
    return made


def test_make_callable_takes_feeds_by_place_and_returns_the_fetched_structure(target, graph):
    x, y = tf1.placeholder(tf.int32, []), tf1.placeholder(tf.int32, [])
    with tf1.Session(target) as session:
        call = session.make_callable({"sum": x + y, "pair": [x, x * y]}, [x, y])
        for a, b in [(3, 4), (10, -1)]:
            got = call(a, b)
            assert got == {"sum": a + b, "pair": [a, a * b]}


def test_make_callable_without_feeds_or_of_an_operation(target, graph):
    v = tf1.Variable(0, use_resource=False)
    count = tf1.assign_add(v, 1)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.make_callable(count.op)() is None
        assert session.make_callable(count)() == 2


def test_make_callable_with_run_options_fills_the_metadata(target, graph):
    x = tf1.placeholder(tf.int32, [])
    with tf1.Session(target) as session:
        call = session.make_callable(x + 1, [x], accept_options=True)
        metadata = tf1.RunMetadata()
        trace = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        assert call(4, options=trace, run_metadata=metadata) == 5
    assert metadata.step_stats.dev_stats


def test_a_callable_kept_by_the_server_runs_again_and_again(target, graph):
    x, y = tf1.placeholder(tf.float32, [2]), tf1.placeholder(tf.float32, [2])
    with tf1.Session(target) as session:
        call = session._make_callable_from_options(options([x, y], [x + y, x * y]))
        for number in range(5):
            a, b = np.float32([1, 2]) * number, np.float32([3, 4])
            added, multiplied = call(a, b)
            assert added.tolist() == (a + b).tolist()
            assert multiplied.tolist() == (a * b).tolist()


def test_a_callable_fetches_in_its_own_order(target, graph):
    z, a = tf.constant(1, name="z"), tf.constant(2, name="a")
    with tf1.Session(target) as session:
        call = session._make_callable_from_options(options([], [z, a]))
        assert call() == [1, 2]


def test_a_callable_runs_targets(target, graph):
    v = tf1.Variable(0, use_resource=False)
    count = tf1.assign_add(v, 1)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        call = session._make_callable_from_options(options(targets=[count.op]))
        for _ in range(3):
            assert call() == []
        assert session.run(v) == 3


def test_callables_run_side_by_side(target, graph):
    x = tf1.placeholder(tf.int32, [])
    with tf1.Session(target) as session:
        calls = [session._make_callable_from_options(options([x], [x + i])) for i in range(4)]

        def run(number):
            return [calls[number](np.int32(i))[0] for i in range(25)]

        for number, got in enumerate(in_threads(run, range(4))):
            assert got == [i + number for i in range(25)]


def test_an_error_in_a_callable_names_its_node_and_the_callable_goes_on(target, graph):
    x = tf1.placeholder(tf.float32, [None, None])
    y = tf.matmul(x, x, name="squared")
    with tf1.Session(target) as session:
        call = session._make_callable_from_options(options([x], [y]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="{{node squared}}"):
            call(np.ones([2, 3], np.float32))
        assert call(np.float32([[3]]))[0] == 9


def test_a_callable_of_unknown_names_is_refused(target, graph):
    tf.constant(1, name="known")
    with tf1.Session(target) as session:
        for bad in [
            config_pb2.CallableOptions(fetch=["unknown:0"]),
            config_pb2.CallableOptions(fetch=["known:3"]),
            config_pb2.CallableOptions(feed=["unknown:0"], fetch=["known:0"]),
            config_pb2.CallableOptions(target=["unknown"]),
        ]:
            with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.NotFoundError)) as raised:
                session._make_callable_from_options(bad)
            assert "known" in str(raised.value)


def test_a_callable_outlives_the_growth_of_its_graph(target, graph):
    x = tf1.placeholder(tf.int32, [])
    with tf1.Session(target) as session:
        old = session._make_callable_from_options(options([x], [x + 1]))
        assert old(np.int32(1)) == [2]
        new = session._make_callable_from_options(options([x], [x + 2]))
        assert new(np.int32(1)) == [3]
        assert old(np.int32(5)) == [6]


def test_callables_that_were_let_go_leave_the_session_whole(target, graph):
    x = tf1.placeholder(tf.int32, [])
    y = x + 1
    with tf1.Session(target) as session:
        for number in range(50):
            call = session._make_callable_from_options(options([x], [y]))
            assert call(np.int32(number)) == [number + 1]
            del call
        assert session.run(y, {x: 1}) == 2


def test_a_callable_spans_tasks(cluster, graph):
    both = cluster(ps=1, worker=1)
    x = tf1.placeholder(tf.int32, [])
    with tf.device("/job:ps/task:0"):
        y = x * 2
    with tf.device("/job:worker/task:0"):
        z = y + 1
    with tf1.Session(both.target("worker")) as session:
        call = session._make_callable_from_options(options([x], [z, y]))
        assert call(np.int32(20)) == [41, 40]


def test_a_tensor_stands_for_another_in_a_callable(target, graph):
    x = tf1.placeholder(tf.float32, [], name="x")
    y = tf1.placeholder(tf.float32, [], name="y")
    doubled, total = y * 2, x + 1
    connected = options([y], [total])
    connected.tensor_connection.add(from_tensor=doubled.name, to_tensor=x.name)
    with tf1.Session(target) as session:
        assert session._make_callable_from_options(connected)(np.float32(5)) == [11]
        connected.fetch.append(x.name)
        with pytest.raises(tf.errors.InvalidArgumentError, match="both fed and fetched"):
            session._make_callable_from_options(connected)

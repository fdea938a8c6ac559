"""Staging areas, barriers and critical sections as programs use them; the rules are tested beside the C++."""

import threading

import numpy as np
import pytest

import millrace as tf
from millrace.contrib.staging import StagingArea
from millrace.python.ops.data_flow_ops import Barrier, MapStagingArea
from on_threads import Beside


def test_a_tuple_is_staged_in_one_step_and_taken_in_another(session):
    area = StagingArea([tf.float32, tf.string], shapes=[[2], []])
    x = tf.placeholder(tf.float32, [2])
    put, (numbers, word) = area.put([x, "a"]), area.get()
    assert numbers.shape.as_list() == [2]
    session.run(put, {x: [1.0, 2.0]})
    assert session.run(area.size()) == 1
    peeked = session.run(area.peek(0))
    np.testing.assert_array_equal(peeked[0], [1.0, 2.0])
    np.testing.assert_array_equal(session.run([numbers, word])[0], [1.0, 2.0])
    assert session.run(area.size()) == 0
    session.run([area.put([x, "b"])], {x: [1.0, 2.0]})
    session.run(area.clear())
    assert session.run(area.size()) == 0


def test_tuples_may_be_dictionaries(session):
    area = StagingArea([tf.int32, tf.int32], names=["x", "y"])
    session.run(area.put({"y": 2, "x": 1}))
    assert session.run(area.get()) == {"x": 1, "y": 2}
    with pytest.raises(ValueError):
        area.put([1, 2])
    with pytest.raises(ValueError):
        area.put({"z": 2})


def test_who_takes_waits_for_who_puts(session):
    area = StagingArea([tf.int32])
    (taken,) = area.get()
    waiting = Beside(lambda: session.run(taken))
    session.run(area.put([7]))
    assert waiting.result() == 7


def test_closing_the_session_ends_a_wait():
    has_begun = threading.Event()
    with tf.Session() as session:
        (taken,) = StagingArea([tf.int32]).get()
        begins = tf.py_func(lambda: has_begun.set() or np.int32(1), [], tf.int32)

        def run():
            try:
                session.run([taken, begins])
            except tf.errors.OpError as error:
                return error

        waiting = Beside(run)
        assert has_begun.wait(60)
    assert isinstance(waiting.result(), tf.errors.CancelledError)


def test_what_does_not_fit_an_area_is_refused_when_the_graph_is_built():
    area = StagingArea([tf.float32], shapes=[[2]])
    with pytest.raises(ValueError):
        area.put([tf.constant([1, 2])])
    with pytest.raises(ValueError):
        area.put([tf.constant([1.0, 2.0, 3.0])])
    with pytest.raises(ValueError):
        StagingArea([tf.float32], shapes=[[2], [2]])


@pytest.mark.parametrize("ordered", [True, False])
def test_components_under_a_key_come_and_leave_one_by_one(session, ordered):
    area = MapStagingArea([tf.float32, tf.string], names=["x", "y"], ordered=ordered)
    session.run(area.put(3, {"x": 1.5}))
    assert session.run([area.size(), area.incomplete_size()]) == [0, 1]
    session.run(area.put(3, {"y": "a"}))
    assert session.run([area.size(), area.incomplete_size()]) == [1, 0]
    key, first = area.get(3, indices=["y"])
    assert key == 3
    assert session.run(first) == {"y": b"a"}
    assert session.run(area.get(indices=[0])) == (3, {"x": 1.5})
    assert session.run(area.size()) == 0


def test_an_ordered_area_gives_the_least_key_first(session):
    area = MapStagingArea([tf.int32], ordered=True)
    for key in (5, 3, 4):
        session.run(area.put(tf.constant(key, tf.int64), [tf.constant(key * 10)], indices=[0]))
    taken = area.get()
    assert [session.run(taken) for _ in range(3)] == [(3, [30]), (4, [40]), (5, [50])]


def test_an_element_leaves_a_barrier_once_it_is_whole(session):
    barrier = Barrier((tf.float32, tf.float32), shapes=((), (2,)))
    keys = ["a", "b"]
    session.run(barrier.insert_many(0, keys, [1.0, 2.0]))
    assert session.run([barrier.ready_size(), barrier.incomplete_size()]) == [0, 2]
    session.run(barrier.insert_many(1, keys, [[1.0, 2.0], [3.0, 4.0]]))
    indices, taken_keys, values = barrier.take_many(2)
    assert values[1].shape.as_list() == [2, 2]
    got = session.run([indices, taken_keys, *values])
    assert list(got[0]) == [-(2**63)] * 2
    assert list(got[1]) == [b"a", b"b"]
    np.testing.assert_array_equal(got[3], [[1.0, 2.0], [3.0, 4.0]])
    session.run(barrier.close())
    with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
        session.run(values)
    with pytest.raises(tf.errors.CancelledError):
        session.run(barrier.insert_many(0, keys, [1.0, 2.0]))


def test_what_a_critical_section_runs_is_never_mixed():
    with tf.Session() as session:
        count = tf.get_variable("count", initializer=0, use_resource=True)
        section = tf.CriticalSection()

        def add():
            value = count.read_value()
            with tf.control_dependencies([value]):
                with tf.control_dependencies([count.assign_add(1)]):
                    return tf.identity(value)

        added = [section.execute(add) for _ in range(8)]
        session.run(tf.global_variables_initializer())
        waiting = [Beside(lambda: session.run(added)) for _ in range(4)]
        seen = [value for each in waiting for value in each.result()]
        assert sorted(seen) == list(range(32))


def test_a_critical_section_that_fails_lets_go():
    with tf.Session() as session:
        section = tf.CriticalSection()
        x = tf.placeholder(tf.float32, [])
        out = section.execute(lambda: tf.check_numerics(x, "bad"))
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(out, {x: np.inf})
        assert session.run(out, {x: 1.0}) == 1.0


def test_a_section_inside_itself_and_variables_of_two_sections_are_refused():
    one, two = tf.CriticalSection(), tf.CriticalSection()
    with pytest.raises(ValueError, match="in which we are already running"):
        one.execute(lambda: one.execute(lambda: tf.constant(1)))
    v = tf.get_variable("v", initializer=0, use_resource=True)
    one.execute(lambda: v.assign_add(1))
    with pytest.raises(ValueError, match="exclusive resource access"):
        two.execute(lambda: v.assign_add(1))

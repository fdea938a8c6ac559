"""Tensors that sessions keep, and the handles that programs have of them."""

import gc

import numpy as np
import pytest

import millrace as tf


def test_a_value_stays_with_the_session_and_is_found_by_its_handle(session):
    handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    np.testing.assert_array_equal(handle.eval(), [1.0, 2.0])
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    np.testing.assert_array_equal(session.run(value * 2, {holder: handle.handle}), [2.0, 4.0])
    np.testing.assert_array_equal(session.run(value * 3, {holder: handle}), [3.0, 6.0])
    assert str(handle).endswith("CPU:0")


def test_each_run_keeps_a_value_of_its_own(session):
    x = tf.placeholder(tf.int32, [])
    keep = tf.get_session_handle(x * 10)
    first, second = (session.run(keep, {x: i}) for i in (1, 2))
    assert (first.eval(), second.eval()) == (10, 20)


def test_handles_are_found_in_structures_of_fetches(session):
    c = tf.constant(3.0)
    got = session.run({"kept": tf.get_session_handle(c), "value": c, "op": c.op})
    assert (got["kept"].eval(), got["value"], got["op"]) == (3.0, 3.0, None)


def test_a_handle_may_be_fed_for_the_value(session):
    a, b = tf.constant(2.0), tf.placeholder(tf.float32, [])
    handle = session.run(tf.get_session_handle(a))
    assert session.run(b * 5, {b: handle}) == 10.0
    assert session.run([b, b * 5], {b: handle}) == [2.0, 10.0]
    text = session.run(tf.get_session_handle(tf.constant("word")))
    s = tf.placeholder(tf.string, [])
    assert session.run(tf.string_join([s, "s"]), {s: text}) == b"words"


def test_a_deleted_value_is_gone(session):
    handle = session.run(tf.get_session_handle(tf.constant(1)))
    holder, value = tf.get_session_tensor(handle, tf.int32)
    handle.delete()
    with pytest.raises(TypeError, match="may have already been deleted"):
        handle.eval()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        session.run(value, {holder: handle.handle})
    other = session.run(tf.get_session_handle(tf.constant(1)))
    holder, delete = tf.delete_session_tensor(other)
    session.run(delete, {holder: other.handle})
    with pytest.raises(tf.errors.InvalidArgumentError):
        other.eval()
    other.get_raw_handle()


def test_values_whose_handles_nobody_has_are_dropped(session):
    keep = tf.get_session_handle(tf.constant(1))
    handle = session.run(keep)
    name = handle.handle
    holder, value = tf.get_session_tensor(handle, tf.int32)
    del handle
    gc.collect()
    for _ in range(12):
        session.run(keep)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(value, {holder: name})


def test_what_cannot_be_deleted_fails_no_run_and_keeps_nothing_else(session):
    keep = tf.get_session_handle(tf.constant(1))
    handles = [session.run(keep) for _ in range(12)]
    names = [handle.handle for handle in handles]
    holder, value = tf.get_session_tensor(names[0], tf.int32)
    gone, delete = tf.delete_session_tensor(names[0])
    session.run(delete, {gone: names[0]})
    del handles
    gc.collect()
    session.run(keep)
    for name in names:
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            session.run(value, {holder: name})


def test_a_finalized_graph_fails_no_run_whose_handles_nobody_has(session):
    keep = tf.get_session_handle(tf.constant(1))
    handles = [session.run(keep) for _ in range(12)]
    name = handles[0].handle
    holder, value = tf.get_session_tensor(name, tf.int32)
    session.graph.finalize()
    del handles
    gc.collect()
    session.run(keep)
    assert session.run(value, {holder: name}) == 1


def test_a_raw_handle_outlives_its_object(session):
    keep = tf.get_session_handle(tf.constant(7))
    name = session.run(keep).get_raw_handle()
    for _ in range(12):
        session.run(keep)
    holder, value = tf.get_session_tensor(name, tf.int32)
    assert session.run(value, {holder: name}) == 7


def test_only_tensors_are_kept():
    with pytest.raises(TypeError):
        tf.get_session_handle(3.0)


def test_a_value_is_gone_when_its_session_closes_on_a_server():
    server = tf.train.Server.create_local_server()
    keep = tf.get_session_handle(tf.constant(7))
    with tf.Session(server.target) as first:
        name = first.run(keep).get_raw_handle()
        holder, value = tf.get_session_tensor(name, tf.int32)
        assert first.run(value, {holder: name}) == 7
    with tf.Session(server.target) as second:
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            second.run(value, {holder: name})

"""Graphs over several devices of one task."""

import pytest

import millrace as tf


def two_devices():
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def test_a_loop_goes_from_one_device_of_a_task_to_another_in_every_iteration():
    with tf.Graph().as_default(), two_devices() as session:
        start = tf.placeholder(tf.int32, [])

        def body(i, total):
            with tf.device("/cpu:1"):
                squared = i * i
            with tf.device("/cpu:0"):
                return i + 1, total + squared

        with tf.device("/cpu:0"):
            _, total = tf.while_loop(lambda i, total: i < 10, body, [start, tf.constant(0)])
        with tf.device("/cpu:1"):
            result = total + start
        for first in (0, 5, 9, 10):
            expected = sum(i * i for i in range(first, 10)) + first
            assert session.run(result, {start: first}) == expected


def test_steps_of_one_graph_on_several_devices_do_not_see_each_others_values():
    with tf.Graph().as_default(), two_devices() as session:
        x = tf.placeholder(tf.float32, [])
        towers = []
        for tower in range(4):
            with tf.device(f"/cpu:{tower % 2}"):
                towers.append(x * float(tower))
        with tf.device("/cpu:0"):
            total = tf.add_n(towers)
        for step in range(20):
            assert session.run(total, {x: float(step)}) == 6.0 * step


def test_a_session_in_this_process_and_a_server_have_the_devices_that_they_are_asked_for():
    def cpus(devices):
        return [device.name[-5:] for device in devices if device.device_type == "CPU"]

    with tf.Session() as session:
        assert cpus(session.list_devices()) == ["CPU:0"]
    with two_devices() as session:
        assert cpus(session.list_devices()) == ["CPU:0", "CPU:1"]
    config = tf.ConfigProto(device_count={"CPU": 3, "GPU": 0})
    server = tf.train.Server.create_local_server(config=config)
    with tf.Session(server.target) as session:
        assert cpus(session.list_devices()) == ["CPU:0", "CPU:1", "CPU:2"]
    with pytest.raises(ValueError, match="cpu_devices is 0; a task needs at least one"):
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 0}))

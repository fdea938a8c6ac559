"""What a session offers beyond a step, where its tasks are of both kinds."""

import concurrent.futures
import pathlib

import pytest
import tensorflow as tf

from border import as_written

tf1 = tf.compat.v1


def test_the_devices_of_both_sides_are_listed(border):
    with border.session() as session:
        found = session.list_devices()
    names = {device.name for device in found}
    assert names == {f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in (0, 1)}
    assert len({device.incarnation for device in found} - {0}) == 2


def test_a_graph_grows_on_both_sides(border):
    with border.session() as session:
        total = tf1.placeholder_with_default(0, [])
        for turn in range(6):
            with tf.device(border.there if turn % 2 else border.here):
                total = total + turn
            assert session.run(total) == sum(range(turn + 1))


def test_the_legs_of_a_partial_run_cross_the_border(border):
    first, second = tf1.placeholder(tf.float32, []), tf1.placeholder(tf.float32, [])
    with tf.device(border.there):
        one = first + 1.0
    with tf.device(border.here):
        two = one * second
    with tf.device(border.there):
        three = two + one
    with border.session() as session:
        for value in (1.0, 5.0):
            handle = session.partial_run_setup([one, two, three], [first, second])
            got = session.partial_run(handle, one, {first: value})
            assert got == value + 1
            got, last = session.partial_run(handle, [two, three], {second: 10.0})
            assert got == 10 * (value + 1) and last == 11 * (value + 1)


def test_a_callable_crosses_the_border(border):
    x = tf1.placeholder(tf.float32, [])
    with tf.device(border.there):
        y = x * 3.0
    with border.session() as session:
        triple = session.make_callable(border.from_there(y), [x])
        assert [triple(value) for value in (1, 2)] == [3, 6]


def test_a_trace_has_what_ran_on_each_side(border):
    x = tf1.placeholder(tf.float32, [])
    with tf.device(border.there):
        there = tf.add(x, 1.0, name="ran_there")
    with tf.device(border.here):
        here = tf.multiply(there, 2.0, name="ran_here")
    with border.session() as session:
        metadata = tf1.RunMetadata()
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        assert session.run(here, {x: 4.0}, options=options, run_metadata=metadata) == 10
    ran = {
        (stats.device, node.node_name)
        for stats in metadata.step_stats.dev_stats
        for node in stats.node_stats
    }
    assert (border.task_name(border.here) + "/device:CPU:0", "ran_here") in ran
    assert (border.task_name(border.there) + "/device:CPU:0", "ran_there") in ran


def test_the_parts_of_a_step_are_shown_on_request(border):
    x = tf1.placeholder(tf.float32, [])
    with tf.device(border.there):
        there = tf.negative(x, name="ran_there")
    with border.session() as session:
        metadata = tf1.RunMetadata()
        session.run(
            border.from_there(there),
            {x: 1.0},
            options=tf1.RunOptions(output_partition_graphs=True),
            run_metadata=metadata,
        )
    parts = [{node.name: node.op for node in part.node} for part in metadata.partition_graphs]
    assert len(parts) == 2
    assert ["ran_there" in part for part in parts].count(True) == 1


def test_a_filtered_session_sees_its_own_side_only(border):
    with border.session(border.only_here()) as session:
        names = [device.name for device in session.list_devices()]
        assert names == [border.task_name(border.here) + "/device:CPU:0"]


def test_a_device_that_nobody_has_is_refused_by_name_or_softly_replaced(border):
    x = tf1.placeholder(tf.float32, [])
    with tf.device(border.there + "/device:GPU:0"):
        y = tf.negative(x, name="wants_a_gpu")
    with border.session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y, {x: 1.0})
        assert "Cannot assign a device for operation wants_a_gpu" in caught.value.message
        assert "/device:GPU:0" in caught.value.message
    with border.session(as_written(allow_soft_placement=True)) as session:
        assert session.run(y, {x: 1.0}) == -1.0


def test_one_graph_runs_as_it_was_written_and_as_the_master_rewrites_it(border):
    x = tf1.placeholder(tf.float32, [2, 2])
    with tf.device(border.there):
        a = tf.matmul(x, tf.ones([2, 2]) * 2.0) + tf.zeros([2])
        b = tf.nn.relu(tf.reshape(tf.transpose(a), [4]) - 3.0)
    with tf.device(border.here):
        c = tf.reduce_sum(tf.concat([b, b * 2.0], 0) * 1.0 + 0.0)
    for config in (as_written(), tf1.ConfigProto()):
        with border.session(config) as session:
            assert session.run(c, {x: [[1, 2], [3, 4]]}) == 3 * (3 + 3 + 11 + 11)


def test_sessions_of_both_masters_run_steps_at_once(border):
    x = tf1.placeholder(tf.int32, [])
    with tf.device(border.here):
        y = x + 1
    with tf.device(border.there):
        y = y * 2
    y = border.from_there(y)
    with border.session() as one, tf1.Session(border.cluster.target(border.other)) as other:
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            got = threads.map(lambda i: int((one, other)[i % 2].run(y, {x: i})), range(200))
            assert list(got) == [(i + 1) * 2 for i in range(200)]


def resident_kilobytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def test_thousands_of_steps_leave_nothing_behind(border):
    """A kilobyte per step would show."""
    x = tf1.placeholder(tf.float32, [256])
    with tf.device(border.here):
        y = x + 1.0
    with tf.device(border.there):
        y = y * 2.0
    y = tf.reduce_sum(border.from_there(y))
    steps, warm_up = 3000, 300
    ours = border.cluster.tasks["worker:0"].pid
    with border.session() as session:
        run = session.make_callable(y, [x])
        for i in range(warm_up):
            assert run([float(i)] * 256) == 512 * (i + 1)
        before = resident_kilobytes(ours)
        for _ in range(steps):
            run([1.0] * 256)
        assert resident_kilobytes(ours) - before < steps


def test_many_sessions_leave_nothing_behind(border):
    with tf.device(border.there):
        y = tf.identity(tf1.placeholder_with_default(1.0, []))
    y = border.from_there(y)
    ours = border.cluster.tasks["worker:0"].pid

    def sessions(count):
        for _ in range(count):
            with border.session() as session:
                assert session.run(y) == 1.0

    sessions(20)
    before = resident_kilobytes(ours)
    sessions(100)
    assert resident_kilobytes(ours) - before < 4000

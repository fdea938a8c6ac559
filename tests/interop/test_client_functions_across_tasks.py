"""Functions whose bodies stand on several tasks."""

import pytest
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

tf1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("control_flow_v2")


@pytest.fixture
def spread(cluster):
    """The target of a cluster of a worker and a parameter server."""
    return cluster(worker=1, ps=1).target("worker")


def variable(name, value):
    return tf1.get_variable(name, initializer=value, use_resource=True)


def test_branches_run_where_their_devices_say(spread, graph):
    p = tf1.placeholder(tf.bool, [])
    with tf.device("/job:ps/task:0"):
        v = variable("v", 2.0)
    with tf.device("/job:worker/task:0"):
        x = tf.constant(3.0)

        def far():
            with tf.device("/job:ps/task:0"):
                return v * x

        result = tf.cond(p, far, lambda: x)
    with tf1.Session(spread) as session:
        session.run(v.initializer)
        assert session.run(result, {p: True}) == 6
        assert session.run(result, {p: False}) == 3


def test_a_loop_spans_tasks_and_updates_variables_on_both(spread, graph):
    with tf.device("/job:ps/task:0"):
        far = variable("far", 0.0)
    with tf.device("/job:worker/task:0"):
        near = variable("near", 0.0)
        n = tf1.placeholder(tf.int32, [])

        def body(i, total):
            with tf.control_dependencies([total]):
                with tf.device("/job:ps/task:0"):
                    seen = far.assign_add(1.0)
                return i + 1, near.assign_add(seen) + total

        result = tf.while_loop(lambda i, _: i < n, body, [0, 0.0])[1]
    with tf1.Session(spread) as session:
        session.run(tf1.global_variables_initializer())
        assert session.run(result, {n: 4}) == 1 + 3 + 6 + 10
        assert session.run([far, near]) == [4, 10]


def test_a_loop_keeps_variables_of_two_tasks_apart(spread, graph):
    with tf.device("/job:ps/task:0"):
        far = variable("far", 1.0)
    with tf.device("/job:worker/task:0"):
        near = variable("near", 2.0)
        [result] = tf.while_loop(lambda x: x < 20, lambda x: [x + far + near], [0.0])
    with tf1.Session(spread) as session:
        session.run(tf1.global_variables_initializer())
        assert session.run(result) == 21


def test_a_function_is_called_on_another_task(spread, graph):
    with tf.device("/job:ps/task:0"):
        v = variable("v", 5.0)

    @tf.function
    def take(x):
        v.assign_sub(x)
        return v.read_value()

    with tf.device("/job:ps/task:0"):
        result = take(2.0)
    with tf.device("/job:worker/task:0"):
        doubled = result * 2
    with tf1.Session(spread) as session:
        session.run(v.initializer)
        assert session.run(doubled) == 6
        assert session.run(v) == 3


def test_a_remote_call_runs_on_the_task_that_its_target_names(spread, graph):
    @function.Defun(tf.float32, tf.float32)
    def product(a, b):
        return a * b

    with tf.device("/job:worker/task:0"):
        a, b = variable("a", 2.0), variable("b", 3.0)
        [result] = functional_ops.remote_call(
            args=[a, b],
            Tout=[tf.float32],
            f=product,
            target="/job:ps/replica:0/task:0/cpu:0",
        )
    traced = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    metadata = tf1.RunMetadata()
    with tf1.Session(spread) as session:
        session.run(tf1.global_variables_initializer())
        assert session.run(result + 3.0, options=traced, run_metadata=metadata) == 9
    [device] = {
        each.device
        for each in metadata.step_stats.dev_stats
        for node in each.node_stats
        if node.timeline_label.endswith("= Mul()")
    }
    assert "/job:ps/" in device


def test_a_remote_call_runs_where_each_step_says(spread, graph):
    @function.Defun(tf.float32)
    def doubled(x):
        return x * 2

    target = tf1.placeholder(tf.string, [])
    with tf.device("/job:worker/task:0"):
        [result] = functional_ops.remote_call(
            args=[tf.constant(4.0)], Tout=[tf.float32], f=doubled, target=target
        )
        after = result + 1.0
    traced = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    with tf1.Session(spread) as session:
        for name in (
            "/job:ps/replica:0/task:0/device:CPU:0",
            "/job:worker/replica:0/task:0/cpu:0",
            "/job:ps/replica:0/task:0/cpu:0",
        ):
            metadata = tf1.RunMetadata()
            assert session.run(after, {target: name}, traced, metadata) == 9
            ran = {
                each.device.split("/")[1]
                for each in metadata.step_stats.dev_stats
                for node in each.node_stats
                if node.timeline_label.endswith("= Mul()")
            }
            assert ran == {name.split("/")[1]}
        with pytest.raises(tf.errors.InvalidArgumentError, match="job:nobody"):
            session.run(after, {target: "/job:nobody/replica:0/task:0/cpu:0"})

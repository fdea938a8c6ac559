"""Ops that TensorFlow's tasks know and ours don't, in clusters of both."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1

UNKNOWN = "DebugGradientIdentity"  # replace it once there is such an op


@pytest.fixture(autouse=True)
def some_tasks_are_ours(request):
    if request.config.getoption("servers") == "tensorflow":
        pytest.skip("TensorFlow's servers know all of its ops")


def test_an_op_that_only_the_other_side_knows_runs_there_or_is_refused_by_name(border):
    """A Millrace master can't plan with an op that it does not know, wherever it is to run."""
    x = tf1.placeholder(tf.int32, [1, 1])
    with tf.device(border.there if border.master == "worker:0" else border.here):
        y = tf.raw_ops.DebugGradientIdentity(input=x, name="the_stranger")
    with border.session() as session:
        if border.master == "worker:1":
            assert session.run(border.round_trip(y), {x: [[97]]}) == [[97]]
            return
        with pytest.raises(tf.errors.NotFoundError) as caught:
            session.run(y, {x: [[3]]})
    assert f"Op type not registered '{UNKNOWN}'" in caught.value.message
    assert "the_stranger" in caught.value.message


def test_an_op_on_a_task_that_does_not_know_it_is_refused_and_other_steps_run(border):
    x = tf1.placeholder(tf.int32, [1, 1])
    if border.master == "worker:0":
        pytest.skip("a Millrace master refuses the whole graph: see above")
    with tf.device(border.there):
        y = tf.raw_ops.DebugGradientIdentity(input=x, name="the_stranger")
        z = tf.negative(x)
    with border.session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.NotFoundError) as caught:
                session.run(y, {x: [[3]]})
            assert f"Op type not registered '{UNKNOWN}'" in caught.value.message
            assert "the_stranger" in caught.value.message
            assert border.task_name(border.there) in caught.value.message
            assert session.run(z, {x: [[3]]}) == [[-3]]

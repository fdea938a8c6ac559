"""Ops that TensorFlow's tasks know and ours don't, in clusters of both."""

import io
import wave

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

UNKNOWN = "DebugGradientIdentity"  # replace it once there is such an op


@pytest.fixture(autouse=True)
def some_tasks_are_ours(request):
    if request.config.getoption("servers") == "tensorflow":
        pytest.skip("TensorFlow's servers know all of its ops")


def test_an_op_that_only_the_other_side_knows_runs_there(border):
    """A Millrace master, too, passes on what it doesn't know: with the types that the graph tells of it."""
    x = tf1.placeholder(tf.int32, [1, 1])
    with tf.device(border.there if border.master == "worker:0" else border.here):
        y = tf.raw_ops.DebugGradientIdentity(input=x, name="the_stranger")
        z = tf.raw_ops.DebugGradientIdentity(input=y + 1)
    with border.session() as session:
        for number in (97, 5):
            assert session.run(border.round_trip(y), {x: [[number]]}) == [[number]]
        # What nobody reads is fetched: by an attribute its type is known.
        assert session.run(z, {x: [[3]]}) == [[4]]
        session.run(z.op, {x: [[3]]})


def sound(samples, rate):
    """A WAV file's bytes: 16 bits a sample, one channel."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.asarray(samples, "<i2").tobytes())
    return made.getvalue()


def test_outputs_of_several_types_come_from_an_op_that_only_the_other_side_knows(border):
    """No attribute tells them: those who read them do."""
    if border.master == "worker:1":
        pytest.skip("TensorFlow's master knows all of its ops")
    contents = tf1.placeholder(tf.string, [])
    with tf.device(border.there):
        audio, rate = tf.raw_ops.DecodeWav(contents=contents)
    with border.session() as session:
        wanted = border.from_there(audio), border.round_trip(rate)
        samples, per_second = session.run(wanted, {contents: sound([0, 16384, -32768], 8000)})
    assert samples.tolist() == [[0.0], [0.5], [-1.0]] and per_second == 8000


def test_an_op_that_nobody_else_is_asked_for_is_refused_when_the_graph_is_sent(border):
    if border.master == "worker:1":
        pytest.skip("TensorFlow's master knows all of its ops")
    x = tf1.placeholder(tf.int32, [1, 1])
    for device in (border.here, None):
        with tf.device(device):
            y = tf.raw_ops.DebugGradientIdentity(input=x, name="the_stranger")
        with border.session() as session, pytest.raises(tf.errors.NotFoundError) as caught:
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

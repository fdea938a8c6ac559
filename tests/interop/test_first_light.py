"""The smallest thing of each combination; the other modules go deep."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def test_tensorflow_client_runs_a_step_on_a_millrace_server(target, graph):
    x = tf1.placeholder(tf.float32, [None, 3])
    y = tf.matmul(x, tf.ones([3, 2]))
    with tf1.Session(target) as session:
        assert session.run(y, {x: [[1, 2, 3]]}).tolist() == [[6, 6]]


@pytest.mark.parametrize("master", ["worker:0", "worker:1"])
def test_a_step_crosses_from_tensorflow_to_millrace_and_back(cluster, graph, master):
    both = cluster(worker=2, tf=["worker:1"])
    x = tf1.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:0"):
        doubled = x * 2
    with tf.device("/job:worker/task:1"):
        plus_one = doubled + 1
    with tf.device("/job:worker/task:0"):
        result = plus_one * 10
    with tf1.Session(both.target(master)) as session:
        assert session.run(result, {x: 4}) == 90

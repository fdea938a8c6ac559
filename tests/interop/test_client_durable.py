"""TensorFlow's own client asks a server of ours to keep a variable and a queue, by an attribute of their nodes."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def ask_to_last(op):
    op._set_attr("_durable", tf1.AttrValue(b=True))


class Program:
    def __init__(self, use_resource):
        self.kept = tf1.get_variable("kept", initializer=0, use_resource=use_resource)
        self.plain = tf1.get_variable("plain", initializer=0, use_resource=use_resource)
        self.queue = tf1.FIFOQueue(9, [tf.int32], shapes=[()], shared_name="numbers")
        for op in (self.kept.op, self.queue.queue_ref.op):
            ask_to_last(op)
        self.initialize = tf1.global_variables_initializer()
        self.add = tf.group(tf1.assign_add(self.kept, 7), tf1.assign_add(self.plain, 7))
        self.put, self.size = self.queue.enqueue(3), self.queue.size()
        self.are_there = [tf1.is_variable_initialized(v) for v in (self.kept, self.plain)]

    def begin(self, session):
        session.run(self.initialize)
        session.run([self.add, self.put])
        assert session.run(self.are_there) == [True, True]
        assert session.run([self.kept, self.plain, self.size]) == [7, 7, 1]


KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


@KINDS
def test_what_asks_is_there_in_the_servers_next_life(
    cluster, graph, monkeypatch, tmp_path, request, use_resource
):
    if request.config.getoption("servers") == "tensorflow":
        pytest.skip("TensorFlow's servers keep nothing")
    monkeypatch.setenv("MILLRACE_STATE", str(tmp_path))
    monkeypatch.setenv("MILLRACE_STATE_KEEPS", "asked")
    tasks = cluster(worker=1)
    program = Program(use_resource)
    with tf1.Session(tasks.target("worker")) as session:
        program.begin(session)
    tasks.tasks["worker:0"].kill()
    tasks.start("worker:0")
    with tf1.Session(tasks.target("worker")) as session:
        assert session.run(program.are_there) == [True, False]
        assert session.run([program.kept, program.size]) == [7, 1]


@KINDS
def test_a_server_of_tensorflow_passes_over_the_wish(cluster, graph, use_resource):
    target = cluster(worker=1, tf=["worker:0"]).target("worker")
    with tf1.Session(target) as session:
        Program(use_resource).begin(session)

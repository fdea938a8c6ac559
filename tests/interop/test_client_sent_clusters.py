"""A cluster that the client sends: servers that were started alone join one for a session."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1
errors = tf.errors


@pytest.fixture
def lone(cluster):
    """The addresses of three servers, each started as the only task of a cluster of its own."""
    return [cluster(alone=1).addresses["alone:0"] for _ in range(3)]


def config(**jobs):
    """jobs: {"ps": {0: address}, …}, sparse indices welcome."""
    made = tf1.ConfigProto()
    for name, tasks in jobs.items():
        job = made.cluster_def.job.add(name=name)
        for index, address in tasks.items():
            job.tasks[index] = address
    return made


def on(job, index=0):
    return tf.device(f"/job:{job}/task:{index}")


def test_a_step_spans_the_tasks_that_the_client_named(lone, graph):
    x = tf1.placeholder(tf.int32, [])
    with on("ps"):
        doubled = x * 2
    with on("worker", 1):
        plus_one = doubled + 1
    with on("worker"):
        result = plus_one * 10
    sent = config(ps={0: lone[0]}, worker={0: lone[1], 1: lone[2]})
    for master in lone:
        with tf1.Session(f"grpc://{master}", config=sent) as session:
            assert [session.run(result, {x: value}) for value in [1, 5]] == [30, 110]


def test_devices_bear_the_names_that_the_client_chose(lone, graph):
    tf.constant(0)
    sent = config(ps={0: lone[0]}, worker={0: lone[1], 5: lone[2]})
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as session:
        devices = session.list_devices()
    assert sorted(d.name for d in devices if d.device_type == "CPU") == [
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:5/device:CPU:0",
    ]


def test_variables_and_queues_live_on_the_named_tasks(lone, graph):
    with on("ps"):
        v = tf1.Variable(1, use_resource=False)
        r = tf1.Variable(1, use_resource=True)
        queue = tf1.FIFOQueue(5, [tf.int32], shapes=[()])
    with on("worker"):
        put, take = queue.enqueue(v + r), queue.dequeue()
    sent = config(ps={0: lone[0]}, worker={0: lone[1]})
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as session:
        session.run(tf1.global_variables_initializer())
        session.run([tf1.assign_add(v, 1), r.assign_add(2)])
        session.run(put)
        assert session.run(take) == 5


@pytest.mark.parametrize("use_resource", [False, True])
def test_state_is_the_session_s_own(lone, graph, use_resource):
    with on("ps"):
        v = tf1.Variable(0, use_resource=use_resource)
    known, step = tf1.is_variable_initialized(v), v.assign_add(1)
    sent = config(ps={0: lone[0]}, worker={0: lone[1]})
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as first:
        with tf1.Session(f"grpc://{lone[1]}", config=sent) as second:
            first.run(v.initializer)
            assert first.run(known)
            assert not second.run(known)
            second.run(v.initializer)
            first.run(step)
            assert (first.run(v), second.run(v)) == (1, 0)
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as third:
        assert not third.run(known)


def test_a_session_that_asks_for_its_own_state_has_it_in_a_plain_cluster_too(target, graph):
    v = tf1.Variable(0, use_resource=False)
    known = tf1.is_variable_initialized(v)
    own = tf1.ConfigProto(isolate_session_state=True)
    with tf1.Session(target) as shared, tf1.Session(target, config=own) as isolated:
        isolated.run(v.initializer)
        assert isolated.run(known)
        assert not shared.run(known)
        shared.run(v.initializer)
        shared.run(tf1.assign_add(v, 5))
        assert (shared.run(v), isolated.run(v)) == (5, 0)


def test_state_is_shared_if_the_client_says_so(lone, graph):
    with on("ps"):
        v = tf1.Variable(0, use_resource=False)
    sent = config(ps={0: lone[0]}, worker={0: lone[1]})
    sent.experimental.share_session_state_in_clusterspec_propagation = True
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as session:
        session.run(v.initializer)
        session.run(tf1.assign_add(v, 3))
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as session:
        assert session.run(v) == 3


def test_the_same_servers_serve_two_clusters_at_once(lone, graph):
    x = tf1.placeholder(tf.int32, [])
    with on("a"):
        y = x + 1
    with on("b"):
        z = y * 2
    there = config(a={0: lone[0]}, b={0: lone[1]})
    back = config(a={0: lone[1]}, b={0: lone[0]})
    with tf1.Session(f"grpc://{lone[0]}", config=there) as first:
        with tf1.Session(f"grpc://{lone[0]}", config=back) as second:
            for value in range(3):
                assert first.run(z, {x: value}) == second.run(z, {x: value}) == (value + 1) * 2


def test_a_session_without_a_cluster_still_sees_the_server_as_it_was_started(lone, graph):
    x = tf.constant(1) + 1
    sent = config(ps={0: lone[0]}, worker={0: lone[1]})
    with tf1.Session(f"grpc://{lone[0]}", config=sent) as session:
        assert session.run(x) == 2
    with tf1.Session(f"grpc://{lone[0]}") as session:
        assert session.run(x) == 2
        assert [d.name for d in session.list_devices() if d.device_type == "CPU"] == [
            "/job:alone/replica:0/task:0/device:CPU:0"
        ]


def test_a_cluster_without_the_master_is_refused(lone, graph):
    x = tf.constant(1)
    with tf1.Session(f"grpc://{lone[0]}", config=config(worker={0: lone[1]})) as session:
        with pytest.raises(errors.InvalidArgumentError, match="master .* not included"):
            session.run(x)


def test_a_cluster_with_the_master_twice_is_refused(lone, graph):
    x = tf.constant(1)
    sent = config(a={0: lone[0]}, b={0: lone[0]})
    with tf1.Session(f"grpc://{lone[0]}", config=sent) as session:
        with pytest.raises(errors.InvalidArgumentError):
            session.run(x)


def test_an_error_on_a_named_task_names_it_so(lone, graph):
    divisor = tf1.placeholder(tf.int32, [])
    with on("ps", 4):
        quotient = tf1.floordiv(10, divisor, name="quotient")
    sent = config(ps={4: lone[0]}, worker={0: lone[1]})
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as session:
        with pytest.raises(errors.InvalidArgumentError, match="[Dd]ivision by zero") as raised:
            session.run(quotient, {divisor: 0})
    assert "/job:ps/replica:0/task:4" in raised.value.message
    assert raised.value.op is quotient.op


def test_a_loop_and_a_conditional_span_the_named_tasks(lone, graph):
    n = tf1.placeholder(tf.int32, [])

    def body(i, total):
        with on("ps"):
            even = tf.equal(i % 2, 0)
            return i + 1, total + tf1.cond(even, lambda: i, lambda: tf.constant(0))

    with on("worker"):
        _, total = tf1.while_loop(lambda i, t: i < n, body, [0, 0])
    sent = config(ps={0: lone[0]}, worker={0: lone[1]})
    with tf1.Session(f"grpc://{lone[1]}", config=sent) as session:
        assert session.run(total, {n: 9}) == 0 + 2 + 4 + 6 + 8

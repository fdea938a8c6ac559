"""Three tasks, of every mixture of kinds: a chief whose workers also speak to each other."""

import itertools

import pytest
import tensorflow as tf

from border import as_written

tf1 = tf.compat.v1

TASKS = ["chief:0", "worker:0", "worker:1"]
MIXTURES = [mixture for size in range(4) for mixture in itertools.combinations(TASKS, size)]
CHIEF, FIRST, SECOND = "/job:chief", "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture(params=MIXTURES, ids=lambda mixture: " ".join(mixture) or "only ours")
def fleet(request, cluster, graph):
    """The parameter says which tasks are TensorFlow's."""
    return cluster(chief=1, worker=2, tf=request.param)


def test_workers_of_any_kinds_share_variables_queues_and_loops(fleet):
    turns = tf1.placeholder(tf.int32, [])
    with tf.device(FIRST):
        variable = tf1.Variable([1.0, 2.0], use_resource=False)
    with tf.device(SECOND):
        queue = tf1.FIFOQueue(10, [tf.float32, tf.string], [[2], []])
        doubled = variable * 2.0
        put = queue.enqueue([doubled, tf.strings.as_string(turns)])
    with tf.device(FIRST):
        number, text = queue.dequeue()
        taken = [number + 1.0, tf.strings.join([text, "!"])]

    def body(i, total):
        with tf.device(SECOND):
            total = total + i
        with tf.device(FIRST):
            total = total * 2
        return i + 1, total

    with tf.device(CHIEF):
        _, total = tf1.while_loop(lambda i, _: i < turns, body, [tf.constant(0), 1])
    expected = 1
    for i in range(7):
        expected = (expected + i) * 2
    with tf1.Session(fleet.target("chief"), config=as_written()) as session:
        session.run(variable.initializer)
        for _ in range(3):
            session.run(put, {turns: 7})
            got, said = session.run(taken)
            assert got.tolist() == [3.0, 5.0] and said == b"7!"
            assert session.run(total, {turns: 7}) == expected


def test_an_error_between_two_workers_is_told_as_it_is_and_nobody_is_left_waiting(fleet):
    x = tf1.placeholder(tf.float32, [])
    with tf.device(FIRST):
        checked = tf.debugging.check_numerics(1.0 / x, "checked here")
        never = tf1.FIFOQueue(1, [tf.float32], [[]]).dequeue()
    with tf.device(SECOND):
        second = checked + 1.0
    with tf.device(CHIEF):
        result = second * 2.0
    with tf1.Session(fleet.target("chief"), config=as_written()) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="checked here") as caught:
                session.run([result, never], {x: 0.0})
            assert caught.value.op.type == "CheckNumerics"
            assert session.run(result, {x: 1.0}) == 4.0


def test_a_chief_and_one_worker_go_on_without_the_other(fleet):
    with tf.device(FIRST):
        first = tf.identity(tf1.placeholder_with_default(1.0, []))
    with tf.device(SECOND):
        both = first + 1.0
    without = as_written(device_filters=["/job:chief", FIRST])
    with tf1.Session(fleet.target("chief"), config=as_written()) as session:
        assert session.run(both) == 2.0
        fleet.tasks["worker:1"].kill()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(both)
        assert session.run(first) == 1.0
        with tf.Graph().as_default(), tf.device(FIRST):
            with tf1.Session(fleet.target("chief"), config=without) as another:
                assert another.run(tf.identity(tf.constant(3.0)) * 2.0) == 6.0
        fleet.start("worker:1")  # TensorFlow's masters wait for it when the session is closed

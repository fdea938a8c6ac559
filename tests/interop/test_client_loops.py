"""Loops of TensorFlow's v1 control flow: nested, across tasks, over arrays and variables."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1

OTHERS = ["/job:ps/task:0", "/job:worker/task:1"]


@pytest.fixture
def three(cluster):
    """The target of a master among three tasks: ps:0, worker:0 (the master), worker:1."""
    return cluster(ps=1, worker=2).target("worker")


def test_a_loop_runs_as_often_as_it_is_told(target, graph):
    n = tf1.placeholder(tf.int32, [])
    _, total = tf1.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + i), [0, 0])
    with tf1.Session(target) as session:
        for count in [0, 1, 2, 10, 1000]:
            assert session.run(total, {n: count}) == sum(range(count))


@pytest.mark.parametrize("parallel_iterations", [1, 2, 32])
def test_iterations_that_overlap_give_the_same(target, graph, parallel_iterations):
    _, total = tf1.while_loop(
        lambda i, t: i < 100,
        lambda i, t: (i + 1, t + tf.square(i)),
        [0, 0],
        parallel_iterations=parallel_iterations,
    )
    with tf1.Session(target) as session:
        assert session.run(total) == sum(i * i for i in range(100))


def test_a_loop_inside_a_loop(target, graph):
    def inner(i, total):
        _, row = tf1.while_loop(lambda k, r: k < i, lambda k, r: (k + 1, r + i * k), [0, 0])
        return i + 1, total + row

    _, total = tf1.while_loop(lambda i, t: i < 7, inner, [0, 0])
    with tf1.Session(target) as session:
        assert session.run(total) == sum(i * k for i in range(7) for k in range(i))


def test_a_shape_that_grows_from_iteration_to_iteration(target, graph):
    _, grown = tf1.while_loop(
        lambda i, x: i < 5,
        lambda i, x: (i + 1, tf.concat([x, [i]], 0)),
        [0, tf.constant([-1])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    with tf1.Session(target) as session:
        assert session.run(grown).tolist() == [-1, 0, 1, 2, 3, 4]


def test_a_loop_over_strings(target, graph):
    _, text = tf1.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, tf.strings.join([s, "ab"])), [0, ""]
    )
    with tf1.Session(target) as session:
        assert session.run(text) == b"ab" * 5


def test_an_array_is_written_read_and_gathered(target, graph):
    array = tf1.TensorArray(tf.float32, 5, clear_after_read=False)
    _, array = tf1.while_loop(
        lambda i, a: i < 5,
        lambda i, a: (i + 1, a.write(i, tf.cast(i * i, tf.float32))),
        [0, array],
    )
    fetches = [array.stack(), array.read(3), array.gather([4, 0]), array.size()]
    with tf1.Session(target) as session:
        stacked, third, chosen, size = session.run(fetches)
    assert stacked.tolist() == [0, 1, 4, 9, 16]
    assert (third, chosen.tolist(), size) == (9, [16, 0], 5)


def test_an_array_is_unstacked_and_summed_backwards(target, graph):
    x = tf1.placeholder(tf.float32, [None])
    array = tf1.TensorArray(tf.float32, tf.size(x)).unstack(x)
    _, folded = tf1.while_loop(
        lambda i, t: i >= 0, lambda i, t: (i - 1, t * 2 + array.read(i)), [tf.size(x) - 1, 0.0]
    )
    with tf1.Session(target) as session:
        assert session.run(folded, {x: [1, 2, 3]}) == 3 * 4 + 2 * 2 + 1


def test_arrays_of_one_step_are_gone_in_the_next(target, graph):
    x = tf1.placeholder(tf.int32, [])
    array = tf1.TensorArray(tf.int32, 2).write(0, x)
    first, second = array.read(0), array.write(1, x).read(1)
    with tf1.Session(target) as session:
        for value in range(5):
            assert session.run(first, {x: value}) == value
            assert session.run(second, {x: value}) == value


def test_the_gradient_of_a_loop(target, graph):
    x = tf1.placeholder(tf.float32, [])
    power = tf1.while_loop(lambda i, p: i < 4, lambda i, p: (i + 1, p * x), [0, 1.0])[1]
    (slope,) = tf1.gradients(power, x)
    with tf1.Session(target) as session:
        for value in [1.0, 2.0, -3.0]:
            assert session.run([power, slope], {x: value}) == [value**4, 4 * value**3]


def test_a_loop_counts_in_a_ref_variable(target, graph):
    v = tf1.Variable(0, use_resource=False)

    def body(i):
        with tf.control_dependencies([tf1.assign_add(v, i)]):
            return i + 1

    loop = tf1.while_loop(lambda i: i < 10, body, [0], parallel_iterations=1)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        session.run(loop)
        assert session.run(v) == 45


def test_a_loop_counts_in_a_resource_variable(target, graph):
    v = tf1.Variable(0, use_resource=True)

    def body(i):
        with tf.control_dependencies([v.assign_add(i)]):
            return i + 1

    loop = tf1.while_loop(lambda i: i < 10, body, [0], parallel_iterations=1)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        session.run(loop)
        assert session.run(v) == 45


def test_a_loop_takes_from_a_queue_until_it_has_enough(target, graph):
    queue = tf1.FIFOQueue(10, [tf.int32], shapes=[()])
    put = queue.enqueue_many([[5, 6, 7, 8]])
    total = tf1.while_loop(lambda t: t < 15, lambda t: t + queue.dequeue(), [0])
    size = queue.size()
    with tf1.Session(target) as session:
        session.run(put)
        assert session.run(total) == 18
        assert session.run(size) == 1


def test_a_loop_whose_body_is_on_another_task(three, graph):
    n = tf1.placeholder(tf.int32, [])

    def body(i, total):
        with tf.device("/job:ps/task:0"):
            return i + 1, total + tf.square(i)

    _, total = tf1.while_loop(lambda i, t: i < n, body, [0, 0])
    with tf1.Session(three) as session:
        for count in [0, 1, 13]:
            assert session.run(total, {n: count}) == sum(i * i for i in range(count))


def test_a_loop_that_visits_three_tasks_in_each_iteration(three, graph):
    def body(i, x):
        for place in OTHERS:
            with tf.device(place):
                x = x * 2 + 1
        return i + 1, x

    with tf.device("/job:worker/task:0"):
        _, got = tf1.while_loop(lambda i, x: i < 5, body, [0, 0])
    expected = 0
    for _ in range(10):
        expected = expected * 2 + 1
    with tf1.Session(three) as session:
        for _ in range(3):
            assert session.run(got) == expected


def test_a_nested_loop_whose_inner_body_is_on_another_task(three, graph):
    def inner_body(k, row):
        with tf.device("/job:worker/task:1"):
            return k + 1, row + 1

    def outer_body(i, total):
        with tf.device("/job:ps/task:0"):
            _, row = tf1.while_loop(lambda k, r: k < i, inner_body, [0, 0])
            return i + 1, total + row

    with tf.device("/job:worker/task:0"):
        _, total = tf1.while_loop(lambda i, t: i < 6, outer_body, [0, 0])
    with tf1.Session(three) as session:
        for _ in range(3):
            assert session.run(total) == sum(range(6))


def test_a_loop_adds_to_a_variable_of_another_task(three, graph):
    with tf.device("/job:ps/task:0"):
        v = tf1.Variable(0, use_resource=True)

    def body(i):
        with tf.device("/job:ps/task:0"), tf.control_dependencies([v.assign_add(i)]):
            there = tf.identity(i)
        return there + 1

    with tf.device("/job:worker/task:0"):
        loop = tf1.while_loop(lambda i: i < 10, body, [0], parallel_iterations=1)
    with tf1.Session(three) as session:
        session.run(v.initializer)
        assert session.run(loop) == 10
        assert session.run(v) == 45


def test_the_gradient_of_a_loop_across_tasks(three, graph):
    x = tf1.placeholder(tf.float32, [])

    def body(i, p):
        with tf.device("/job:ps/task:0"):
            return i + 1, p * x

    power = tf1.while_loop(lambda i, p: i < 3, body, [0, 1.0])[1]
    (slope,) = tf1.gradients(power, x, colocate_gradients_with_ops=True)
    with tf1.Session(three) as session:
        assert session.run([power, slope], {x: 2.0}) == [8, 12]


def test_an_error_in_one_iteration_ends_the_loop_on_every_task(three, graph):
    divisor = tf1.placeholder(tf.int32, [])

    def body(i, total):
        with tf.device("/job:ps/task:0"):
            return i + 1, total + tf1.floordiv(12, divisor - i, name="quotient")

    with tf.device("/job:worker/task:0"):
        _, total = tf1.while_loop(lambda i, t: i < 4, body, [0, 0])
    with tf1.Session(three) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="[Dd]ivision by zero") as raised:
            session.run(total, {divisor: 2})
        assert raised.value.op.type == "FloorDiv"
        assert session.run(total, {divisor: 12}) == 12 // 12 + 12 // 11 + 12 // 10 + 12 // 9

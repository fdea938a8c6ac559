"""Variables of both kinds: their updates, their sharing by container and name, threads upon them."""

import numpy as np
import pytest
import tensorflow as tf

from threads import in_threads

tf1 = tf.compat.v1
errors = tf.errors

both_kinds = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


@both_kinds
def test_a_variable_is_assigned_added_to_and_subtracted_from(target, graph, use_resource):
    v = tf1.Variable([1.0, 2.0], use_resource=use_resource)
    x = tf1.placeholder(tf.float32, [2])
    changes = [v.assign(x), v.assign_add(x), v.assign_sub(x)]
    with tf1.Session(target) as session:
        session.run(v.initializer)
        seen = [session.run(change, {x: [10, 20]}).tolist() for change in changes]
        assert seen == [[10, 20], [20, 40], [10, 20]]
        assert session.run(v).tolist() == [10, 20]


@both_kinds
def test_who_comes_after_a_write_reads_after_it(target, graph, use_resource):
    v = tf1.Variable(0, use_resource=use_resource)
    with tf.control_dependencies([v.assign_add(1)]):
        after, filled = tf.identity(v), tf.fill([2], v)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(after) == 1
        assert session.run(filled).tolist() == [2, 2]


@both_kinds
def test_who_comes_after_a_branch_or_a_loop_that_wrote_reads_after_it(target, graph, use_resource):
    v, p = tf1.Variable(0, use_resource=use_resource), tf1.placeholder(tf.bool)
    branch = tf1.cond(p, lambda: v.assign_add(1) + 0, lambda: tf.constant(0))
    with tf.control_dependencies([branch]):
        after_branch = tf.identity(v)

    def counted(i):
        with tf.control_dependencies([v.assign_add(1)]):
            return i + 1

    loop = tf1.while_loop(lambda i: i < 3, counted, [0])
    with tf.control_dependencies([loop]):
        after_loop = tf.identity(v)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(after_branch, {p: False}) == 0
        assert session.run(after_branch, {p: True}) == 1
        assert session.run(after_loop) == 4


@both_kinds
def test_rows_of_a_variable_are_updated_and_gathered(target, graph, use_resource):
    v = tf1.Variable(np.zeros([4, 2], np.float32), use_resource=use_resource)
    add = tf1.scatter_add(v, [1, 3, 1], [[1.0, 1.0], [5.0, 5.0], [2.0, 2.0]])
    set_row = tf1.scatter_update(v, [0], [[9.0, 9.0]])
    rows = tf.gather(v, [0, 1, 3])
    with tf1.Session(target) as session:
        session.run(v.initializer)
        session.run(add)
        session.run(set_row)
        assert session.run(rows).tolist() == [[9, 9], [3, 3], [5, 5]]


@both_kinds
def test_additions_of_many_threads_all_count(target, graph, use_resource):
    v = tf1.Variable(0, use_resource=use_resource)
    add = v.assign_add(1, use_locking=True) if not use_resource else v.assign_add(1)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        in_threads(lambda _: [session.run(add.op) for _ in range(25)], range(6))
        assert session.run(v) == 150


@both_kinds
def test_additions_of_many_clients_all_count(cluster, use_resource):
    three = cluster(ps=1, worker=2)

    def work(number):
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                v = tf1.get_variable("v", initializer=0, dtype=tf.int32, use_resource=use_resource)
                add = v.assign_add(1, use_locking=True) if not use_resource else v.assign_add(1)
            with tf1.Session(three.target(f"worker:{number % 2}")) as session:
                for _ in range(20):
                    session.run(add.op)

    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf1.get_variable("v", initializer=0, dtype=tf.int32, use_resource=use_resource)
        with tf1.Session(three.target("worker")) as session:
            session.run(v.initializer)
            in_threads(work, range(4))
            assert session.run(v) == 80


def test_a_value_that_was_read_does_not_change_with_the_variable(target, graph):
    v = tf1.Variable([1, 2, 3], use_resource=True)
    before = tf.identity(v.read_value())
    with tf.control_dependencies([before]):
        change = v.assign_add([10, 10, 10])
    with tf1.Session(target) as session:
        session.run(v.initializer)
        first, _ = session.run([before, change.op])
        assert first.tolist() == [1, 2, 3]
        assert session.run(v).tolist() == [11, 12, 13]


@both_kinds
def test_a_variable_read_on_another_task_is_current(cluster, graph, use_resource):
    both = cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        v = tf1.Variable(1.0, use_resource=use_resource)
        double = v.assign(v * 2)
    with tf.device("/job:worker/task:0"):
        seen = v + 0.5
    with tf1.Session(both.target("worker")) as session:
        session.run(v.initializer)
        for expected in [2, 4, 8]:
            session.run(double.op)
            assert session.run(seen) == expected + 0.5


@both_kinds
def test_a_shape_that_does_not_fit_is_refused(target, graph, use_resource):
    v = tf1.Variable([1.0, 2.0], use_resource=use_resource)
    x = tf1.placeholder(tf.float32)
    change = v.assign(x)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        with pytest.raises(errors.InvalidArgumentError, match="shape"):
            session.run(change.op, {x: [1, 2, 3]})
        assert session.run(v).tolist() == [1, 2]


def test_a_variable_whose_shape_is_not_checked_takes_another(target, graph):
    v = tf1.Variable([1.0], use_resource=False, validate_shape=False)
    x = tf1.placeholder(tf.float32)
    change = tf1.assign(v, x, validate_shape=False)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        session.run(change.op, {x: [[1, 2], [3, 4]]})
        assert session.run(v).tolist() == [[1, 2], [3, 4]]


def test_a_variable_starts_from_another(target, graph):
    first = tf1.Variable(tf1.random_uniform([4]), use_resource=False)
    second = tf1.Variable(first.initialized_value() * 2, use_resource=False)
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        a, b = session.run([first, second])
    assert (a * 2).tolist() == b.tolist()


@both_kinds
def test_initial_values_of_a_distribution_are_drawn_once(target, graph, use_resource):
    v = tf1.get_variable(
        "v",
        [50],
        initializer=tf1.truncated_normal_initializer(stddev=0.1),
        use_resource=use_resource,
    )
    with tf1.Session(target) as session:
        session.run(v.initializer)
        values = session.run(v)
        assert session.run(v).tolist() == values.tolist()
    assert abs(values).max() <= 0.2
    assert len(set(values.tolist())) > 40


def test_a_resource_variable_that_was_destroyed_is_uninitialised(target, graph):
    v = tf1.Variable(3, use_resource=True)
    destroy = tf.raw_ops.DestroyResourceOp(resource=v.handle, ignore_lookup_error=False)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(v) == 3
        session.run(destroy)
        with pytest.raises(errors.FailedPreconditionError):
            session.run(v)
        with pytest.raises(errors.NotFoundError):
            session.run(destroy)


def test_gradient_descent_written_out_finds_the_minimum(cluster, graph):
    both = cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        w = tf1.Variable([0.0, 0.0], use_resource=False)
    x = tf1.placeholder(tf.float32, [64, 2])
    y = tf1.placeholder(tf.float32, [64, 1])
    with tf.device("/job:worker/task:0"):
        error = tf.matmul(x, tf.expand_dims(w, 1)) - y
        (slope,) = tf1.gradients(tf.reduce_mean(tf.square(error)), w)
    step = tf1.assign_sub(w, 0.1 * slope, use_locking=True)
    inputs = np.random.RandomState(0).rand(64, 2)
    with tf1.Session(both.target("worker")) as session:
        session.run(w.initializer)
        for _ in range(400):
            session.run(step.op, {x: inputs, y: inputs @ [[2.0], [-3.0]]})
        assert np.allclose(session.run(w), [2, -3], atol=0.05)

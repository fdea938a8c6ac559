"""Conditionals of TensorFlow's v1 control flow: nested, across tasks, with variables and queues."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def test_only_the_chosen_branch_runs(target, graph):
    choose = tf1.placeholder(tf.bool, [])
    visits = [tf1.Variable(0, use_resource=False) for _ in range(2)]
    result = tf1.cond(
        choose, lambda: tf1.assign_add(visits[0], 1), lambda: tf1.assign_add(visits[1], 10)
    )
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        assert [session.run(result, {choose: c}) for c in [True, False, False]] == [1, 10, 20]
        assert session.run(visits) == [1, 20]


def test_resource_variables_in_branches(target, graph):
    choose = tf1.placeholder(tf.bool, [])
    v = tf1.Variable(1, use_resource=True)

    def change(amount):
        with tf.control_dependencies([v.assign_add(amount)]):
            return v.read_value()

    result = tf1.cond(choose, lambda: change(1), lambda: change(-100))
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert [session.run(result, {choose: c}) for c in [True, True, False]] == [2, 3, -97]


def test_a_conditional_inside_a_conditional(target, graph):
    x = tf1.placeholder(tf.int32, [])
    sign = tf1.cond(
        x > 0,
        lambda: tf.constant("positive"),
        lambda: tf1.cond(x < 0, lambda: tf.constant("negative"), lambda: tf.constant("zero")),
    )
    with tf1.Session(target) as session:
        assert [session.run(sign, {x: value}) for value in [5, -5, 0]] == [
            b"positive",
            b"negative",
            b"zero",
        ]


def test_a_case_takes_the_first_that_holds(target, graph):
    x = tf1.placeholder(tf.int32, [])
    size = tf1.case(
        [(x < 10, lambda: tf.constant(1)), (x < 100, lambda: tf.constant(2))],
        default=lambda: tf.constant(3),
    )
    with tf1.Session(target) as session:
        assert [session.run(size, {x: value}) for value in [5, 50, 500]] == [1, 2, 3]


def test_a_conditional_inside_a_loop_and_a_loop_inside_a_conditional(target, graph):
    x = tf1.placeholder(tf.int32, [])

    def collatz(n, steps):
        even = tf.equal(n % 2, 0)
        return tf1.cond(even, lambda: n // 2, lambda: 3 * n + 1), steps + 1

    steps = tf1.cond(
        x > 0,
        lambda: tf1.while_loop(lambda n, s: n > 1, collatz, [x, 0])[1],
        lambda: tf.constant(-1),
    )
    with tf1.Session(target) as session:
        assert [session.run(steps, {x: value}) for value in [1, 6, 27, -4]] == [0, 8, 111, -1]


def test_the_gradient_of_a_conditional(target, graph):
    x, choose = tf1.placeholder(tf.float32, []), tf1.placeholder(tf.bool, [])
    y = tf1.cond(choose, lambda: x * x, lambda: 5 * x)
    (slope,) = tf1.gradients(y, x)
    with tf1.Session(target) as session:
        assert session.run([y, slope], {x: 3, choose: True}) == [9, 6]
        assert session.run([y, slope], {x: 3, choose: False}) == [15, 5]


def test_the_dead_branch_of_a_switch_can_not_be_fetched(target, graph):
    choose = tf1.placeholder(tf.bool, [])
    when_false, when_true = tf1.raw_ops.Switch(data=tf.constant(7), pred=choose)
    ends = [tf.identity(when_false), tf.identity(when_true)]
    with tf1.Session(target) as session:
        assert session.run(ends[1], {choose: True}) == 7
        assert session.run(ends[0], {choose: False}) == 7
        with pytest.raises(tf.errors.OpError, match="The tensor returned for .* was not valid"):
            session.run(ends[0], {choose: True})


def test_merge_tells_which_input_came(target, graph):
    choose = tf1.placeholder(tf.bool, [])
    when_false, when_true = tf1.raw_ops.Switch(data=tf.constant(7), pred=choose)
    merged = tf1.raw_ops.Merge(inputs=[when_false * 10, when_true + 1])
    with tf1.Session(target) as session:
        assert session.run(list(merged), {choose: True}) == [8, 1]
        assert session.run(list(merged), {choose: False}) == [70, 0]


@pytest.mark.parametrize("master", ["ps", "worker:0", "worker:1"])
def test_each_branch_is_on_a_task_of_its_own(cluster, graph, master):
    three = cluster(ps=1, worker=2)
    choose, x = tf1.placeholder(tf.bool, []), tf1.placeholder(tf.int32, [])

    def on(task, change):
        def branch():
            with tf.device(task):
                return change(x)

        return branch

    with tf.device("/job:ps/task:0"):
        y = tf1.cond(
            choose,
            on("/job:worker/task:0", lambda value: value * 2),
            on("/job:worker/task:1", lambda value: value + 100),
        )
        z = y + 1
    with tf1.Session(three.target(master)) as session:
        for value in range(4):
            assert session.run(z, {choose: True, x: value}) == value * 2 + 1
            assert session.run(z, {choose: False, x: value}) == value + 101


def test_a_branch_changes_a_variable_of_another_task(cluster, graph):
    both = cluster(ps=1, worker=1)
    choose = tf1.placeholder(tf.bool, [])
    with tf.device("/job:ps/task:0"):
        ref = tf1.Variable(0, use_resource=False)
        resource = tf1.Variable(0, use_resource=True)

    def change():
        with tf.control_dependencies([resource.assign_add(1), tf1.assign_add(ref, 1)]):
            return tf.constant(True)

    with tf.device("/job:worker/task:0"):
        changed = tf1.cond(choose, change, lambda: tf.constant(False))
    with tf1.Session(both.target("worker")) as session:
        session.run(tf1.global_variables_initializer())
        assert [session.run(changed, {choose: c}) for c in [True, False, True]] == [
            True,
            False,
            True,
        ]
        assert session.run([ref, resource]) == [2, 2]


def test_a_branch_that_is_not_taken_does_not_touch_its_queue(target, graph):
    choose = tf1.placeholder(tf.bool, [])
    queue = tf1.FIFOQueue(3, [tf.int32], shapes=[()])
    put, size = queue.enqueue(8), queue.size()
    take = tf1.cond(choose, queue.dequeue, lambda: tf.constant(-1))
    with tf1.Session(target) as session:
        assert session.run(take, {choose: False}) == -1
        session.run(put)
        assert session.run(take, {choose: False}) == -1
        assert session.run(size) == 1
        assert session.run(take, {choose: True}) == 8


@pytest.mark.usefixtures("control_flow_v2")
def test_a_variable_needs_no_value_as_long_as_its_branch_is_not_taken(target, graph):
    v = tf.raw_ops.VariableV2(shape=[1], dtype=tf.float32)
    result = tf.cond(tf.constant(False), lambda: tf.identity(v), lambda: tf.constant([2.0]))
    with tf1.Session(target) as session:
        assert session.run(result) == [2]

"""TensorFlow's client runs steps on a Millrace server: feeds, fetches, targets, and a growing graph."""

import collections

import numpy as np
import tensorflow as tf

from threads import in_threads

tf1 = tf.compat.v1


def test_a_step_returns_the_structure_that_was_asked_for(target, graph):
    x = tf1.placeholder(tf.float32, [2], name="x")
    pair = collections.namedtuple("Pair", "sum product")
    fetches = {
        "pair": pair(tf.reduce_sum(x), tf.reduce_prod(x)),
        "list": [x, [x * 2]],
        "by name": "x:0",
        "nothing": tf.no_op(),
        "sparse": tf.SparseTensor([[0], [2]], x, [3]),
    }
    with tf1.Session(target) as session:
        got = session.run(fetches, {x: [3, 4]})
    assert got["pair"] == pair(7, 12)
    assert got["list"][0].tolist() == [3, 4] and got["list"][1][0].tolist() == [6, 8]
    assert got["by name"].tolist() == [3, 4]
    assert got["nothing"] is None
    assert got["sparse"].indices.tolist() == [[0], [2]]
    assert got["sparse"].values.tolist() == [3, 4]


def test_one_tensor_fetched_many_times_is_the_same_each_time(target, graph):
    x = tf1.random_uniform([])
    with tf1.Session(target) as session:
        first, second, [third] = session.run([x, x, [x]])
    assert first == second == third


def test_a_random_value_differs_from_step_to_step(target, graph):
    x = tf1.random_uniform([8])
    with tf1.Session(target) as session:
        assert session.run(x).tolist() != session.run(x).tolist()


def test_a_fed_tensor_may_be_fetched_too(target, graph):
    x = tf1.placeholder(tf.int32, [])
    y = x + 1
    with tf1.Session(target) as session:
        assert session.run([x, y], {x: 4}) == [4, 5]
        assert session.run([y, y * 10], {y: 7}) == [7, 70]


def test_feeding_the_middle_of_a_graph_cuts_off_what_comes_before(target, graph):
    never_fed = tf1.placeholder(tf.float32, [])
    middle = never_fed * 2
    end = middle + 1
    with tf1.Session(target) as session:
        assert session.run(end, {middle: 10}) == 11
        assert session.run(end, {never_fed: 10}) == 21


def test_any_output_of_an_op_can_be_fed_and_the_others_stay(target, graph):
    first, second, third = tf.split(tf.constant([1, 2, 3, 4, 5, 6]), 3)
    total = tf.concat([first, second, third], 0)
    with tf1.Session(target) as session:
        assert session.run(total, {second: [30, 40]}).tolist() == [1, 2, 30, 40, 5, 6]


def test_a_constant_can_be_fed_over(target, graph):
    limit = tf.constant(10)
    double = limit * 2
    with tf1.Session(target) as session:
        assert [session.run(double), session.run(double, {limit: 1}), session.run(double)] == [
            20,
            2,
            20,
        ]


def test_a_default_can_be_fed_over(target, graph):
    x = tf1.placeholder_with_default([1, 2], [None])
    y = x * 10
    with tf1.Session(target) as session:
        assert session.run(y).tolist() == [10, 20]
        assert session.run(y, {x: [7]}).tolist() == [70]


def test_a_placeholder_of_any_shape_takes_every_shape(target, graph):
    x = tf1.placeholder(tf.float32)
    shape = tf.shape(x)
    with tf1.Session(target) as session:
        for dims in [[], [3], [0], [2, 0, 3], [2, 3, 4]]:
            assert session.run(shape, {x: np.zeros(dims)}).tolist() == dims


def test_a_target_runs_for_its_effect_only(target, graph):
    counter = tf1.Variable(0, use_resource=False)
    count = tf1.assign_add(counter, 1)
    with tf1.Session(target) as session:
        session.run(counter.initializer)
        assert session.run(count.op) is None
        assert session.run([count.op, tf.constant("fetched")])[1] == b"fetched"
        assert session.run(counter) == 2


def test_control_inputs_run_first(target, graph):
    v = tf1.Variable(1, use_resource=False)
    with tf.control_dependencies([tf1.assign(v, 5)]):
        after = v.read_value()
    with tf1.Session(target) as session:
        session.run(v.initializer)
        assert session.run(after) == 5


def test_a_control_input_from_a_fed_placeholder_does_not_hold_the_step(target, graph):
    x = tf1.placeholder(tf.int32, [])
    with tf.control_dependencies([x]):
        y = tf.constant(3) + 1
    with tf1.Session(target) as session:
        assert session.run(y, {x: 0}) == 4


def test_the_graph_grows_between_steps(target, graph):
    with tf1.Session(target) as session:
        value = tf.constant(1)
        for expected in range(2, 12):
            value = value + 1
            assert session.run(value) == expected


def test_what_was_planned_before_the_graph_grew_still_runs(target, graph):
    x = tf1.placeholder(tf.int32, [])
    old = x + 1
    with tf1.Session(target) as session:
        assert session.run(old, {x: 1}) == 2
        new = old * 10
        assert session.run(new, {x: 1}) == 20
        assert session.run(old, {x: 5}) == 6
        assert session.run([old, new], {x: 2}) == [3, 30]


def test_a_graph_that_grew_by_a_loop_and_a_variable_runs(target, graph):
    with tf1.Session(target) as session:
        session.run(tf.constant(0))
        v = tf1.Variable(2, use_resource=False)
        session.run(v.initializer)
        doubled = tf1.while_loop(lambda x: x < 100, lambda x: x * v, [1])
        assert session.run(doubled) == 128


def test_several_sessions_have_a_graph_each(target, connect):
    graphs = [tf.Graph() for _ in range(3)]
    for number, each in enumerate(graphs):
        with each.as_default():
            tf.constant(number, name="number")
    sessions = [connect(target, graph=each) for each in graphs]
    assert [s.run("number:0") for s in sessions] == [0, 1, 2]


def test_a_thousand_fetches_come_back_each_in_its_place(target, graph):
    x = tf1.placeholder(tf.int32, [])
    many = [x + i for i in range(1000)]
    with tf1.Session(target) as session:
        assert session.run(many, {x: 7}) == [7 + i for i in range(1000)]


def test_a_thousand_feeds_arrive_each_in_its_place(target, graph):
    many = [tf1.placeholder(tf.int32, []) for _ in range(1000)]
    together = tf.stack(many)
    with tf1.Session(target) as session:
        values = session.run(together, {p: i for i, p in enumerate(many)})
    assert values.tolist() == list(range(1000))


def test_a_long_chain_does_not_run_out_of_stack(target, graph):
    x = tf1.placeholder(tf.int64, [])
    y = x
    for _ in range(3000):
        y = tf.add(y, 1)
    with tf1.Session(target) as session:
        assert session.run(y, {x: 0}) == 3000


def test_an_imported_graph_runs(target, graph):
    with tf.Graph().as_default() as made:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.reduce_max(tf.square(x), name="y")
    y, x = tf1.import_graph_def(
        made.as_graph_def(), return_elements=["y:0", "x:0"], name="imported"
    )
    with tf1.Session(target) as session:
        assert session.run(y, {x: [1, -3, 2]}) == 9


def test_gradients_that_the_client_adds_to_the_graph_run(target, graph):
    x = tf1.placeholder(tf.float32, [3])
    weights = tf.constant([1.0, 2.0, 3.0])
    loss = tf.reduce_sum(tf.square(x * weights))
    (gradient,) = tf1.gradients(loss, x)
    with tf1.Session(target) as session:
        assert session.run(gradient, {x: [1, 1, 1]}).tolist() == [2, 8, 18]


def test_threads_run_steps_of_one_session_side_by_side(target, graph):
    x = tf1.placeholder(tf.int32, [])
    y = x * x
    with tf1.Session(target) as session:

        def work(number):
            return [session.run(y, {x: number * 100 + i}) for i in range(20)]

        for number, got in enumerate(in_threads(work, range(8))):
            assert got == [(number * 100 + i) ** 2 for i in range(20)]

"""tf.contrib.copy_graph: Operations and Variables of one graph in another."""

import numpy as np
import pytest

import millrace as tf

copying = tf.contrib.copy_graph


@pytest.fixture
def other():
    return tf.Graph()


def run(graph, *fetches, feeds=None):
    with tf.Session(graph=graph) as session:
        initializer = [op for op in graph.get_operations() if op.name.endswith("/Assign")]
        session.run(initializer)
        return session.run(list(fetches), feeds)


def test_what_a_tensor_needs_comes_along_under_a_scope(graph, other):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.matmul(x, [[1.0], [2.0]], transpose_b=False, name="y")
    tf.multiply(y, 2.0, name="unneeded")
    made = copying.copy_op_to_graph(y, other, [], "there")
    assert made.graph is other and made.name == "there/y:0" and made.shape.as_list() == [None, 1]
    assert [op.name for op in other.get_operations()] == ["there/x", "there/y/b", "there/y"]
    assert copying.get_copied_op(x.op, other, "there") is other.get_operation_by_name("there/x")
    assert run(other, made, feeds={"there/x:0": [[3, 4]]})[0].tolist() == [[11]]
    assert len(graph.get_operations()) == 5


def test_what_is_there_by_name_is_no_copy(other):
    y = tf.add(tf.constant(1.0, name="a"), 2.0, name="y")
    with other.as_default():
        tf.constant(10.0, name="a")
        with tf.name_scope("inside"):
            made = copying.copy_op_to_graph(y, other, [])
    assert made.name == "y:0" and run(other, made) == [12]
    assert copying.copy_op_to_graph(y, other, []) is made
    assert copying.copy_op_to_graph(y.op, other, []) is made.op


@pytest.mark.parametrize("is_resource", [False, True])
def test_copies_read_the_copied_variable(other, is_resource):
    w = tf.Variable([1.0, 2.0], name="w", use_resource=is_resource)
    b = tf.Variable(w.initialized_value() * 10, trainable=False, name="b", use_resource=is_resource)
    y = tf.add(w * 2.0, b, name="y")
    copies = [copying.copy_variable_to_graph(each, other, "there") for each in (w, b)]
    made = copying.copy_op_to_graph(y, other, copies, "there")
    w_, b_ = copies
    assert [each.name for each in copies] == ["there/w:0", "there/b:0"]
    assert type(w_) is type(w) and w_.graph is other
    assert copying.get_copied_op(w, other, "there").name == "there/w:0"
    assert copying.copy_op_to_graph(w, other, copies, "there") is copying.get_copied_op(
        w, other, "there"
    )
    with other.as_default(), tf.Session() as session:
        assert tf.global_variables() == [w_, b_] and tf.trainable_variables() == [w_]
        session.run(tf.global_variables_initializer())
        assert session.run(made).tolist() == [12, 24]
        session.run(w_.assign([0.0, 0.0]))
        assert session.run(made).tolist() == [10, 20]


def test_random_values_are_drawn_once(other):
    v = tf.Variable(tf.random_normal([3]), name="v")
    made = copying.copy_variable_to_graph(v, other)
    assert made.name == "v:0"
    assert made.initial_value.op.type == "Const" and made.shape.ndims is None
    first, second = (run(other, made)[0] for _ in range(2))
    assert first.shape == (3,) and np.array_equal(first, second)


def test_collections_of_copies_have_the_scope(graph, other):
    v = tf.Variable(1.0, name="v", collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    y = tf.identity(v, name="y")
    z = tf.identity(y, name="z")
    tf.add_to_collection("results", y)
    tf.add_to_collection("results", z)
    copies = [copying.copy_variable_to_graph(v, other, "there")]
    made = copying.copy_op_to_graph(z, other, copies, "there")
    assert other.get_collection("there/mine") == copies
    assert other.get_collection(tf.GraphKeys.GLOBAL_VARIABLES) == copies
    assert [each.name for each in other.get_collection("there/results")] == [
        "there/y:0",
        "there/z:0",
    ]
    assert made is other.get_collection("there/results")[1]
    plain = tf.Graph()
    assert copying.copy_op_to_graph(z, plain, []).name == "z:0"
    assert len(plain.get_collection("results")) == 2
    with pytest.raises(KeyError, match="'v:0' refers to a Tensor which does not exist"):
        copying.copy_op_to_graph(z, tf.Graph(), [v])  # which is no copy


def test_copies_wait_for_what_originals_wait_for_and_run_where_they_do(other):
    with tf.device("/device:CPU:0"):
        first = tf.no_op(name="first")
    with tf.control_dependencies([first]):
        after = tf.no_op(name="after")
    with other.as_default(), tf.device("/job:worker"):
        with tf.control_dependencies([tf.no_op(name="around")]):
            made = copying.copy_op_to_graph(after, other, [], "c")
    assert [op.name for op in made.control_inputs] == ["c/first"]
    assert made.device == "/job:worker"
    assert made.control_inputs[0].device == "/job:worker/device:CPU:0"


def test_long_chains_and_branches_are_copied_and_loops_are_not(other):
    x = tf.placeholder(tf.float32, [], name="x")
    y = x
    for _ in range(2000):
        y = y + 1.0
    y = tf.cond(x > 0, lambda: y * 2.0, lambda: -y)
    made = copying.copy_op_to_graph(y, other, [])
    assert run(other, made, feeds={"x:0": 1}) == [4002]
    assert run(other, made, feeds={"x:0": -1}) == [-1999]
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    with pytest.raises(NotImplementedError, match="inside a while_loop"):
        copying.copy_op_to_graph(loop, other, [])


def test_other_things_are_refused(other):
    with pytest.raises(TypeError, match="is not a Variable"):
        copying.copy_variable_to_graph(tf.constant(1), other)
    with pytest.raises(TypeError, match="Could not copy instance"):
        copying.copy_op_to_graph(3, other, [])
    with pytest.raises(KeyError, match="not in the graph"):
        copying.get_copied_op(tf.no_op(name="lonely"), other)


def test_the_functions_are_found_where_tensorflow_has_them_inside():
    from millrace.contrib.copy_graph.python.util import copy_elements

    assert copy_elements.copy_op_to_graph is copying.copy_op_to_graph
    assert copy_elements.get_copied_op is copying.get_copied_op

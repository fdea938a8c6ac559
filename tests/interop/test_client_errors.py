"""What a step or a graph does wrong reaches TensorFlow's client as its own exceptions, op and all."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
errors = tf.errors


def test_an_error_of_a_kernel_names_its_op_and_node(target, graph):
    x = tf1.placeholder(tf.float32, [None, None])
    y = tf.matmul(x, x, name="squared")
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError) as raised:
            session.run(y, {x: np.ones([2, 3])})
    assert raised.value.op is y.op
    assert raised.value.error_code == errors.INVALID_ARGUMENT
    assert "{{node squared}}" in str(raised.value)
    assert "[2,3]" in raised.value.message


def test_an_error_of_another_task_names_its_op_and_node(cluster, graph):
    three = cluster(ps=1, worker=2)
    x = tf1.placeholder(tf.float32, [None, None])
    with tf.device("/job:worker/task:1"):
        y = tf.matmul(x, x, name="squared")
    with tf.device("/job:ps/task:0"):
        z = y + 1
    with tf1.Session(three.target("worker")) as session:
        with pytest.raises(errors.InvalidArgumentError) as raised:
            session.run(z, {x: np.ones([2, 3])})
        assert session.run(z, {x: [[2]]}) == 5
    assert raised.value.op is y.op
    assert "/job:worker/replica:0/task:1" in str(raised.value)


def test_a_placeholder_that_was_not_fed_is_named(target, graph):
    x = tf1.placeholder(tf.float32, name="not_fed")
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="must feed a value") as raised:
            session.run(x + 1)
    assert raised.value.op is x.op
    assert raised.value.node_def.name == "not_fed"
    assert "'not_fed' with dtype float" in raised.value.message


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_uninitialised_variable_is_a_failed_precondition_with_its_name(
    target, graph, use_resource
):
    v = tf1.Variable(5, name="weights", use_resource=use_resource)
    read = v.value()
    with tf1.Session(target) as session:
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized") as raised:
            session.run(read)
        session.run(v.initializer)
        assert session.run(v) == 5
    assert "weights" in raised.value.message
    assert raised.value.op is read.op
    assert raised.value.node_def.name == read.op.name


def test_an_addition_to_an_uninitialised_variable_fails_at_the_addition(target, graph):
    by_reference = tf1.Variable(5, name="by_reference", use_resource=False)
    by_handle = tf1.Variable(5, name="by_handle", use_resource=True)
    with tf1.Session(target) as session:
        with pytest.raises(errors.FailedPreconditionError, match="by_reference") as raised:
            session.run(by_reference.assign_add(1))
        assert raised.value.op.type == "AssignAdd"
        with pytest.raises(errors.NotFoundError, match="by_handle") as raised:
            session.run(by_handle.assign_add(1).op)
        assert raised.value.op.type == "AssignAddVariableOp"


def test_the_client_can_ask_which_variables_are_uninitialised(target, graph):
    variables = [
        tf1.Variable(0.0, name=f"{kind}{i}", use_resource=kind == "resource")
        for kind in ["ref", "resource"]
        for i in range(2)
    ]
    missing = tf1.report_uninitialized_variables()
    with tf1.Session(target) as session:
        assert sorted(session.run(missing)) == [b"ref0", b"ref1", b"resource0", b"resource1"]
        session.run([variables[0].initializer, variables[3].initializer])
        assert sorted(session.run(missing)) == [b"ref1", b"resource0"]
        session.run(tf1.global_variables_initializer())
        assert session.run(missing).tolist() == []
        assert session.run([tf1.is_variable_initialized(v) for v in variables]) == [True] * 4


def test_a_failed_assertion_shows_its_data(target, graph):
    x = tf1.placeholder(tf.int32, [])
    with tf.control_dependencies([tf1.Assert(x > 0, ["x is", x], name="positive")]):
        y = tf.identity(x)
    with tf1.Session(target) as session:
        assert session.run(y, {x: 3}) == 3
        with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: \[x is\] \[-3\]"):
            session.run(y, {x: -3})


def test_an_index_out_of_range_is_named(target, graph):
    index = tf1.placeholder(tf.int32, [None])
    y = tf.gather(tf.constant([1, 2, 3]), index, name="look_up")
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match=r"= 7 is not in \[0, 3\)") as raised:
            session.run(y, {index: [0, 7]})
    assert raised.value.op is y.op


def test_a_device_that_the_cluster_lacks_is_refused_with_those_it_has(target, graph):
    with tf.device("/job:worker/task:7"):
        far = tf.constant(1, name="far") + 1
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError) as raised:
            session.run(far)
    text = raised.value.message
    assert "Cannot assign a device for operation" in text
    assert "/job:worker/task:7" in text
    assert "/job:worker/replica:0/task:0/device:CPU:0" in text


def test_a_graph_that_was_refused_leaves_the_session_usable_from_another(target):
    with tf.Graph().as_default():
        with tf.device("/job:nowhere/task:0"):
            bad = tf.constant(1)
        with tf1.Session(target) as session:
            for _ in range(3):
                with pytest.raises(errors.InvalidArgumentError):
                    session.run(bad)
    with tf.Graph().as_default():
        good = tf.constant(2)
        with tf1.Session(target) as session:
            assert session.run(good) == 2


def test_a_bad_extension_is_refused_and_the_session_goes_on(target, graph):
    x = tf.constant(4)
    with tf1.Session(target) as session:
        assert session.run(x) == 4
        with tf.device("/job:nowhere/task:0"):
            bad = x + 1
        with pytest.raises(errors.InvalidArgumentError, match="nowhere"):
            session.run(bad)


def test_a_step_that_failed_does_not_spoil_the_next(target, graph):
    x = tf1.placeholder(tf.int32, [None])
    y = tf.reshape(x, [2, 2])
    with tf1.Session(target) as session:
        for _ in range(3):
            with pytest.raises(errors.InvalidArgumentError):
                session.run(y, {x: [1, 2, 3]})
            assert session.run(y, {x: [1, 2, 3, 4]}).tolist() == [[1, 2], [3, 4]]


def test_integer_division_by_zero_is_an_error_not_a_crash(target, graph):
    x = tf1.placeholder(tf.int32, [])
    y = 10 // x
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="[Dd]ivision by zero"):
            session.run(y, {x: 0})
        assert session.run(y, {x: 3}) == 3


def test_an_error_of_one_branch_of_a_step_ends_the_blocked_rest(target, graph):
    empty = tf1.FIFOQueue(1, [tf.int32], shapes=[()])
    x = tf1.placeholder(tf.float32, [None, None])
    bad = tf.matmul(x, x)
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError):
            session.run([empty.dequeue(), bad], {x: np.ones([2, 3])})


def test_an_error_of_one_task_ends_what_waits_on_another(cluster, graph):
    both = cluster(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        empty = tf1.FIFOQueue(1, [tf.int32], shapes=[()])
        blocked = empty.dequeue()
    x = tf1.placeholder(tf.float32, [None, None])
    with tf.device("/job:worker/task:0"):
        bad = tf.matmul(x, x)
    with tf1.Session(both.target("worker")) as session:
        with pytest.raises(errors.InvalidArgumentError):
            session.run([blocked, bad], {x: np.ones([2, 3])})


def test_check_numerics_says_what_it_was_told_to_say(target, graph):
    x = tf1.placeholder(tf.float32, [2])
    y = tf1.check_numerics(x, "the loss went wrong")
    with tf1.Session(target) as session:
        assert session.run(y, {x: [1, 2]}).tolist() == [1, 2]
        with pytest.raises(errors.InvalidArgumentError, match="the loss went wrong"):
            session.run(y, {x: [1, float("nan")]})

"""tf.graph_util: the part of a graph that computes something, its variables as constants."""

import pytest

import millrace as tf


def ops(definition):
    return {node.name: node.op for node in definition.node}


def imported(definition, fetch, feeds=None):
    with tf.Graph().as_default(), tf.Session() as session:
        (wanted,) = tf.import_graph_def(definition, return_elements=[fetch], name="")
        return session.run(wanted, feeds).tolist()


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_frozen_graph_needs_no_variables(session, use_resource):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=[[1.0], [2.0]], use_resource=use_resource)
    y = tf.matmul(x, w, name="y")
    loss = tf.reduce_mean(tf.square(y))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    session.run(tf.global_variables_initializer())
    session.run(train, {x: [[1.0, 1.0]]})
    expected = session.run(y, {x: [[1.0, 2.0]]}).tolist()
    frozen = tf.graph_util.convert_variables_to_constants(
        session, session.graph.as_graph_def(), ["y"]
    )
    assert ops(frozen)["w"] == "Const" and not {"VariableV2", "VarHandleOp"} & {
        *ops(frozen).values()
    }
    assert len(frozen.node) <= 5
    assert imported(frozen, "y:0", {"x:0": [[1.0, 2.0]]}) == expected


def test_rows_of_a_resource_variable_are_gathered_from_the_constant(session):
    table = tf.get_variable("t", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    tf.identity(tf.nn.embedding_lookup(table, [1]), name="row")
    session.run(tf.global_variables_initializer())
    frozen = tf.graph_util.convert_variables_to_constants(
        session, session.graph.as_graph_def(), ["row"]
    )
    assert "GatherV2" in ops(frozen).values()
    assert imported(frozen, "row:0") == [[3.0, 4.0]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_in_loops_and_branches_are_frozen_too(session, use_resource):
    w = tf.Variable(3, name="w", use_resource=use_resource)
    flag = tf.placeholder(tf.bool, [], name="flag")
    looped = tf.while_loop(lambda i: i < 10, lambda i: i + w, [0])
    chosen = tf.cond(flag, lambda: tf.identity(w), lambda: tf.constant(0))
    tf.add(looped, chosen, name="y")
    session.run(tf.global_variables_initializer())
    frozen = tf.graph_util.convert_variables_to_constants(
        session, session.graph.as_graph_def(), ["y"]
    )
    assert imported(frozen, "y:0", {"flag:0": True}) == 15
    assert imported(frozen, "y:0", {"flag:0": False}) == 12


def test_lists_say_which_variables_are_frozen(session):
    a = tf.get_variable("a", initializer=1.0)
    b = tf.get_variable("b", initializer=2.0)
    texts = tf.Variable(["x", "yz"], name="c")
    tf.identity(texts, name="texts")
    tf.add(a, b, name="y")
    session.run(tf.global_variables_initializer())
    convert, whole = tf.graph_util.convert_variables_to_constants, session.graph.as_graph_def()
    one = ops(convert(session, whole, ["y"], variable_names_whitelist=["a"]))
    assert (one["a"], one["b"]) == ("Const", "VariableV2")
    other = ops(convert(session, whole, ["y"], variable_names_blacklist=["a"]))
    assert (other["a"], other["b"]) == ("VariableV2", "Const")
    assert imported(convert(session, whole, ["texts"]), "texts:0") == [b"x", b"yz"]


def test_what_cannot_be_frozen_is_said(session):
    w = tf.get_variable("w", initializer=1.0, use_resource=True)
    w.assign(2.0, name="change")
    whole = session.graph.as_graph_def()
    with pytest.raises(AssertionError, match="nowhere is not in graph"):
        tf.graph_util.extract_sub_graph(whole, ["nowhere"])
    with pytest.raises(TypeError, match="iterable of strings"):
        tf.graph_util.extract_sub_graph(whole, "w")
    session.run(tf.global_variables_initializer())
    with pytest.raises(ValueError, match=r"'change' \(AssignVariableOp\) takes the handle of the"):
        change = next(n.name for n in whole.node if n.name.startswith("change"))
        tf.graph_util.convert_variables_to_constants(session, whole, [change])


def test_training_nodes_go_and_others_read_past_them(session):
    x = tf.placeholder(tf.float32, [], name="x")
    checked = tf.check_numerics(tf.identity(x, name="i"), "bad", name="checked")
    with tf.control_dependencies([tf.identity(x, name="stays")]):
        tf.identity(tf.stop_gradient(checked) + 1.0, name="y")
    lean = tf.graph_util.remove_training_nodes(session.graph.as_graph_def(), ["y"])
    assert {"i", "checked"}.isdisjoint(ops(lean)) and "stays" in ops(lean)
    assert imported(lean, "y:0", {"x:0": 2.0}) == 3.0


def test_nodes_of_texts_and_sizes_run_on_cpu():
    text, number = tf.constant("a"), tf.constant(1.0)
    assert tf.graph_util.must_run_on_cpu(text.op)
    assert not tf.graph_util.must_run_on_cpu(number.op)
    nodes = {n.op: n for n in tf.get_default_graph().as_graph_def().node}
    assert not tf.graph_util.must_run_on_cpu(nodes["Const"])
    variable = tf.Variable(1.0)
    assert tf.graph_util.must_run_on_cpu(variable.op, pin_variables_on_cpu=True)

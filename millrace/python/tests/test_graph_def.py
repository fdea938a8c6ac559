"""Nodes of a GraphDef are changed, added and taken out."""

import pytest

import millrace as tf


@pytest.fixture
def graph_def(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.add(x, [1.0, 2.0], name="sum")
    tf.square(x, name="other")
    return graph.as_graph_def()


def value_of(graph_def, name, x):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(f"{name}:0", {"x:0": x}).tolist()


def test_nodes_are_copied_into_a_new_graph(graph_def):
    made = tf.GraphDef()
    for node in graph_def.node:
        if node.name != "other":
            made.node.add().CopyFrom(node)
    assert [node.name for node in made.node] == ["x", "sum/y", "sum"]
    again = tf.GraphDef.FromString(made.SerializeToString())
    assert value_of(again, "sum", [3, 4]) == [4, 6]
    other = tf.GraphDef()
    other.node.extend(made.node)
    assert other == made and other.node[0] is not made.node[0]


def test_what_is_changed_is_in_the_bytes(graph_def):
    before = graph_def.SerializeToString()
    assert graph_def.node and graph_def.SerializeToString() == before
    (node,) = [node for node in graph_def.node if node.name == "sum"]
    node.op = "Sub"
    node.input[0], node.input[1] = node.input[1], node.input[0]
    assert value_of(graph_def, "sum", [3, 4]) == [-2, -2]
    assert graph_def.SerializeToString() != before
    assert tf.GraphDef.FromString(before).node[2].op == "Add"


def test_nodes_are_made_from_nothing(graph_def):
    made = graph_def.node.add(name="twice", op="Add", input=["x", "x"])
    made.attr["T"] = ("type", 1)
    assert value_of(graph_def, "twice", [3, 4]) == [6, 8]
    graph_def.node.remove(made)
    assert "twice" not in [
        node.name for node in tf.GraphDef.FromString(graph_def.SerializeToString()).node
    ]
    made = graph_def.node.add(name="odd", op="Const")
    made.attr["value"] = ("tensor", None)
    with pytest.raises(NotImplementedError, match="attribute 'value': a new value of kind tensor"):
        graph_def.SerializeToString()


def test_attributes_are_taken_out_and_set(graph_def):
    node = graph_def.node[0]
    del node.attr["shape"]
    node.attr["dtype"] = ("type", 2)
    again = tf.GraphDef.FromString(graph_def.SerializeToString()).node[0]
    assert dict(again.attr) == {"dtype": ("type", 2)}

"""freeze_graph: a file of a graph with a checkpoint's values in it."""

import pytest

import millrace as tf
from millrace.python.tools import freeze_graph


@pytest.fixture
def model(session, tmp_path):
    """(folder, path of a checkpoint) of y = 3 x w + r, with text and binary files of the graph."""
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [], name="x")
        w = tf.get_variable("w", initializer=2.0)
        r = tf.get_variable("r", initializer=1.0, use_resource=True)
        tf.add(3 * x * w, r, name="y")
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(session, str(tmp_path / "model"))
    tf.train.write_graph(session.graph, str(tmp_path), "graph.pbtxt")
    tf.train.write_graph(session.graph, str(tmp_path), "graph.pb", as_text=False)
    return tmp_path, path


def _frozen(folder, checkpoint, graph, is_binary, **others):
    return freeze_graph.freeze_graph(
        str(folder / graph) if graph else "",
        "",
        is_binary,
        checkpoint,
        "y",
        "save/restore_all",
        "save/Const:0",
        str(folder / "frozen.pb"),
        True,
        "",
        **others,
    )


def _check(folder, frozen):
    with open(folder / "frozen.pb", "rb") as file:
        assert file.read() == frozen.SerializeToString()
    assert {node.device for node in frozen.node} == {""}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(frozen, name="")
        assert session.run("y:0", {"x:0": 2.0}) == 13


def test_a_graph_as_text_or_bytes_becomes_one_of_constants(model):
    folder, checkpoint = model
    _check(folder, _frozen(folder, checkpoint, "graph.pbtxt", False))
    _check(folder, _frozen(folder, checkpoint, "graph.pb", True))


def test_a_graph_of_a_meta_graph_does_too(model):
    folder, checkpoint = model
    _check(folder, _frozen(folder, checkpoint, "", True, input_meta_graph=checkpoint + ".meta"))


def test_variables_that_are_left_out_stay(model):
    folder, checkpoint = model
    frozen = _frozen(folder, checkpoint, "graph.pb", True, variable_names_blacklist="w")
    assert {node.name: node.op for node in frozen.node}["w"] == "VariableV2"


def test_what_is_missing_is_said(model):
    folder, checkpoint = model
    with pytest.raises(ValueError, match="input_checkpoint"):
        _frozen(folder, "", "graph.pb", True)
    with pytest.raises(ValueError, match="neither input_graph nor input_meta_graph"):
        _frozen(folder, checkpoint, "", True)
    with pytest.raises(ValueError, match="tf.saved_model.loader"):
        _frozen(folder, checkpoint, "graph.pb", True, input_saved_model_dir="there")
    with pytest.raises(tf.errors.NotFoundError, match="none.pb"):
        _frozen(folder, checkpoint, "none.pb", True)

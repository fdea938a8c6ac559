"""millrace inspect, as the module that it runs: checkpoints, graphs and event files listed and compared."""

import os
import subprocess
import sys

import numpy as np
import pytest

import millrace as tf


def inspect(*words, code=0):
    """What it prints, line by line; for another code than 0 and 1, what it complains of."""
    done = subprocess.run(
        [sys.executable, "-m", "millrace._inspect", *map(str, words)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return (done.stderr if code == 2 else done.stdout).splitlines()


@pytest.fixture
def saved(session, tmp_path):
    """saved(name, changes) -> the path of a checkpoint of three variables."""
    w = tf.Variable([[1.0, 2.0], [3.0, np.nan]], name="w")
    tf.Variable(7, name="layer/n")
    tf.Variable(["a", "b"], name="texts")
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())

    def save(name, change=None):
        if change is not None:
            session.run(w.assign(change))
        return saver.save(session, str(tmp_path / name))

    return save


def test_tensors_of_a_checkpoint_are_listed_and_printed(saved, tmp_path):
    path = saved("m")
    assert inspect(path) == [
        f"{path}: checkpoint",
        "layer/n  int32    []      4 bytes",
        "texts    string   [2]     ",
        "w        float32  [2, 2]  16 bytes",
        "3 tensors, 20 bytes without strings",
    ]
    assert inspect(path + ".index") == inspect(path) == inspect(tmp_path)
    assert inspect(path, "--name", "layer/n", "--name", "texts") == [
        "layer/n  int32  []",
        "7",
        "texts  string  [2]",
        "[b'a' b'b']",
    ]
    assert "has no tensor 'x'" in inspect(path, "--name", "x", code=2)[0]


def test_checkpoints_are_compared(saved):
    one, same = saved("one"), saved("same")
    other = saved("other", [[1.0, 2.5], [3.0, np.nan]])
    assert inspect(one, "--compare", same) == ["no difference"]
    assert inspect(one, "--compare", other, code=1) == ["w: 1 of 4 differ, by 0.5 at most"]
    assert inspect(one, "--compare", other, "--tolerance", 0.5) == ["no difference"]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([1.0, 2.0], name="w")
        tf.Variable(1, name="extra")
        session.run(tf.global_variables_initializer())
        third = tf.train.Saver().save(session, one + "_third")
    assert inspect(one, "--compare", third, code=1) == [
        f"extra: only in {third}",
        f"layer/n: only in {one}",
        f"texts: only in {one}",
        f"w: float32 [2, 2], and float32 [2] in {third}",
    ]


@pytest.mark.parametrize("as_text", [False, True])
def test_graphs_of_all_forms_are_listed(saved, tmp_path, as_text):
    saved("m")
    tf.placeholder(tf.float32, [None, 3], name="x")
    graph = tf.get_default_graph()
    plain = tf.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=as_text)
    lines = inspect(plain)
    assert lines[0] == f"{plain}: graph" and " nodes, 0 functions" in lines[1]
    told = [line.split(maxsplit=2) for line in lines]
    assert ["x", "float", "[?, 3]"] in told and ["layer/n", "int32", "[]"] in told
    assert ["Assign", "6"] in told
    meta = str(tmp_path / "m.graph")
    tf.train.export_meta_graph(meta, as_text=as_text)
    assert inspect(meta)[0] == f"{meta}: MetaGraph"
    assert ["variables", "3"] in [line.split() for line in inspect(meta)]
    assert inspect(meta, "--compare", meta) == ["no difference"]
    assert inspect(plain, "--name", "x")[0] == "x  Placeholder()"
    assert any(line.startswith("w/Assign ") for line in inspect(plain, "--nodes"))
    assert "they can't be compared" in inspect(plain, "--compare", meta, code=2)[0]


def test_graphs_are_compared(tmp_path):
    paths = []
    for number in (1, 2):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [], name="x")
            tf.identity(x if number == 1 else tf.constant(1.0, name="c"), name="y")
            paths.append(tf.train.write_graph(graph, str(tmp_path), f"{number}.pbtxt"))
    assert inspect(paths[0], "--compare", paths[1], code=1) == [
        f"c (Const): only in {paths[1]}",
        "y: input ['x'] and ['c']",
    ]


def test_a_saved_model_tells_its_signatures(session, tmp_path):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.multiply(x, tf.Variable(2.0, name="two"), name="y")
    session.run(tf.global_variables_initializer())
    folder = str(tmp_path / "saved")
    tf.saved_model.simple_save(session, folder, {"in": x}, {"out": y})
    lines = inspect(folder)
    assert lines[:3] == [f"{folder}: SavedModel", "graph 1 of 1", "tags: serve"]
    assert "signature serving_default (tensorflow/serving/predict):" in lines
    assert "  in   in   DT_FLOAT  [?]  x:0" in lines and "two  float32  []  4 bytes" in lines
    assert inspect(folder, "--name", "two") == ["two  float32  []", "2."]


def test_events_are_listed_by_tag(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, loss in enumerate([0.5, 0.25]):
            value = tf.Summary.Value(tag="loss", simple_value=loss)
            writer.add_summary(tf.Summary(value=[value]), step)
    (name,) = os.listdir(tmp_path)
    path = str(tmp_path / name)
    lines = inspect(path)
    assert lines[1] == "loss  scalar  2 times  steps 0 to 1  0.25"
    assert lines[2] == "3 events: 1 file version"
    assert inspect(path, "--name", "loss") == ["loss", "  0  0.5", "  1  0.25"]
    assert inspect(tmp_path) == lines
    assert inspect(path, "--compare", path) == ["no difference"]
    with open(path, "ab") as file:
        file.write(b"cut off, somewhere in it")
    assert "then the file is damaged" in inspect(path)[-1]


def test_what_cannot_be_read_is_said(tmp_path):
    (tmp_path / "notes").write_text("hello")
    assert "is no checkpoint, no graph" in inspect(tmp_path / "notes", code=2)[0]
    assert "can't read" in inspect(tmp_path / "nothing", code=2)[0]
    assert "name a file in it" in inspect(tmp_path, code=2)[0]

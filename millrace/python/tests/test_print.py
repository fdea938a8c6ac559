"""tf.print: values as text, on a stream of the task."""

import logging
import subprocess
import sys

import pytest

import millrace as tf


def printed(tmp_path, *inputs, **more):
    """What tf.print adds to a file."""
    path = tmp_path / "printed"
    with tf.Session() as session:
        session.run(tf.print(*inputs, output_stream=f"file://{path}", **more))
    return path.read_text()


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def test_tensors_stand_among_texts_and_in_structures(tmp_path):
    a, text = tf.range(8), tf.constant("hi")
    assert (
        printed(tmp_path, "a:", a, text, [a, {"k": text, "b": 2}], 3)
        == "a: [0 1 2 ... 5 6 7] \"hi\" [[0 1 2 ... 5 6 7], {'b': 2, 'k': \"hi\"}] 3\n"
    )


def test_a_single_text_is_printed_as_it_is(tmp_path):
    assert printed(tmp_path, tf.constant("{} hi")) == "{} hi\n"


def test_braces_of_texts_are_not_places_of_tensors(tmp_path):
    assert printed(tmp_path, "{}", tf.constant(1)) == "{} 1\n"


def test_how_much_and_what_is_between_and_after(tmp_path):
    assert printed(tmp_path, tf.range(8), 1, sep=", ", end="E", summarize=-1) == (
        "[0 1 2 3 4 5 6 7], 1E"
    )
    # A file is added to.
    assert printed(tmp_path, "more") == "[0 1 2 3 4 5 6 7], 1Emore\n"


def test_a_sparse_tensor_shows_its_parts(tmp_path):
    sparse = tf.SparseTensor([[0, 1]], [3.0], [2, 2])
    assert printed(tmp_path, sparse) == (
        "'SparseTensor(indices=[[0 1]], values=[3], shape=[2 2])'\n"
    )


def test_streams_are_named_by_what_programs_hold():
    for given, stream in [
        (sys.stdout, b"stdout"),
        (sys.stderr, b"stderr"),
        (tf.logging.info, b"log(info)"),
        (logging.WARNING, b"log(warning)"),
        ("file:///a", b"file:///a"),
    ]:
        made = tf.print(tf.constant(1), output_stream=given, name="shown")
        assert made.get_attr("output_stream") == stream
        assert (
            made.inputs[0].op.name.startswith("shown") and made.inputs[0].op.type == "StringFormat"
        )
    with pytest.raises(ValueError, match="Unsupported output stream, logging level, or file.x"):
        tf.print(1, output_stream="x")


def test_standard_output_is_the_process_s():
    code = "import sys, millrace as tf; tf.Session().run(tf.print(tf.range(2), output_stream=sys.stdout))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout == b"[0 1]\n"

"""A graph with ops that we lack is refused at once, by name, in a message that is shown whole."""

import re

import op_signatures
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def refusal(target):
    with tf1.Session(target) as session:
        with pytest.raises(tf.errors.NotFoundError) as raised:
            session.run(tf.constant(1, name="not_unknown_at_all"))
    return raised.value.message


def test_all_unknown_ops_are_named_with_the_nodes_that_use_them(target, graph):
    x = tf.constant([[0.5], [0.25]])
    for i in range(5):
        tf.raw_ops.AudioSpectrogram(input=x, window_size=2, stride=1, name=f"spectrum_{i}")
    tf.raw_ops.DebugGradientIdentity(input=[[97]], name="stranger")
    told = refusal(target)
    assert (
        "Op type not registered 'AudioSpectrogram', used by "
        "'spectrum_0', 'spectrum_1', 'spectrum_2' and 2 more nodes" in told
    )
    assert re.search(
        r"Op type not registered 'DebugGradientIdentity'[^;]*, used by 'stranger'", told
    )


def test_unknown_ops_are_refused_when_the_graph_is_extended_and_the_session_lives_on(target, graph):
    with tf1.Session(target) as session:
        one = tf.constant(1)
        assert session.run(one) == 1
        tf.raw_ops.DebugGradientIdentity(input=[[97]], name="stranger")
        with pytest.raises(
            tf.errors.NotFoundError, match="'DebugGradientIdentity'.*, used by 'stranger'"
        ):
            session.run(one)
    with tf.Graph().as_default(), tf1.Session(target) as session:
        assert session.run(tf.constant(2)) == 2


def add_ops_that_we_lack(count, name_length):
    """Nodes of `count` ops that the server lacks, of whatever kinds: nothing runs them."""
    theirs = tf.raw_ops.__dict__
    lacking = sorted(op_signatures.of_tensorflow().keys() - op_signatures.of_millrace().keys())
    added = []
    for op in lacking:
        if len(added) == count:
            return added
        if op not in theirs:
            continue
        node = tf1.NodeDef(name=f"{op}_{'n' * name_length}", op=op)
        try:
            tf.import_graph_def(tf1.GraphDef(node=[node]), name="")
        except ValueError:
            continue  # it wants inputs, or attributes
        added.append(op)
    raise AssertionError(f"only {len(added)} ops without inputs are unknown to the server")


@pytest.mark.parametrize("name_length", [0, 1000])
def test_many_unknown_ops_are_all_named_in_a_message_that_arrives_whole(target, graph, name_length):
    added = add_ops_that_we_lack(15, name_length)
    told = refusal(target)
    assert [op for op in added if f"'{op}'" not in told] == []
    assert "truncated" not in told

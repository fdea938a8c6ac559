import numpy as np
import pytest

import millrace as tf


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "model")


def model(**kwargs):
    """Fills the default graph with a variable, a queue that is filled, and things in collections."""
    variable = tf.Variable([1.0, 2.0], name="v", **kwargs)
    part = tf.Variable(
        3.0, trainable=False, name="part", collections=[tf.GraphKeys.LOCAL_VARIABLES]
    )
    part._set_save_slice_info(tf.Variable.SaveSliceInfo("all", [4], [1], [1]))
    doubled = tf.identity(variable * 2, name="doubled")
    tf.train.range_input_producer(3, name="numbers")
    for item in (doubled, doubled.op, variable):
        tf.add_to_collection("nodes", item)
    tf.add_to_collection("numbers", 7)
    tf.add_to_collection("fractions", 0.5)
    tf.add_to_collection("words", "hello")
    return doubled


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_model_comes_back_with_its_graph(path, use_resource):
    model(use_resource=use_resource)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        assert session.run("doubled:0").tolist() == [2.0, 4.0]
        (variable,) = tf.global_variables()
        assert tf.trainable_variables() == [variable]
        assert type(variable).__name__ == ("ResourceVariable" if use_resource else "RefVariable")
        assert variable.shape.as_list() == [2] and variable.dtype.base_dtype == tf.float32
        session.run(variable.initializer)
        assert session.run(variable).tolist() == [1.0, 2.0]
        assert session.run(variable.initial_value).tolist() == [1.0, 2.0]
        (part,) = tf.local_variables()
        assert part.save_slice_info.spec == "4 1,1" and not part.trainable
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.name == "numbers"
        nodes = tf.get_collection("nodes")
        assert nodes[0] is graph.get_tensor_by_name("doubled:0") and nodes[1] is nodes[0].op
        assert tf.get_collection("numbers") == [7] and tf.get_collection("fractions") == [0.5]
        assert tf.get_collection("words") == [b"hello"]


def test_a_graph_may_be_put_under_a_name_scope(path):
    model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.constant(1, name="v")
        saver = tf.train.import_meta_graph(path + ".meta", import_scope="old")
        saver.restore(session, path)
        assert session.run("old/doubled:0").tolist() == [2.0, 4.0]
        assert [variable.op.name for variable in tf.global_variables()] == ["old/v"]
        assert tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].name == "old/numbers"


def test_a_trained_model_is_trained_on(path):
    x = tf.placeholder(tf.float32, [None], name="x")
    weight = tf.Variable(0.0, name="weight")
    loss = tf.reduce_mean(tf.square(weight * x - 3 * x), name="loss")
    train = tf.train.MomentumOptimizer(0.05, 0.5).minimize(loss)
    tf.add_to_collection("train", train)
    feed = {"x:0": np.array([1.0, 2.0])}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, feed)
        expected_now = session.run(weight)
        tf.train.Saver().save(session, path)
        session.run(train, feed)
        expected = session.run(weight)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path + ".meta").restore(session, path)
        assert session.run("weight:0") == expected_now
        session.run(tf.get_collection("train")[0], feed)
        assert session.run("weight:0") == expected


def test_what_is_exported_can_be_chosen(path, caplog):
    with tf.device("/job:ps/task:3"):
        tf.Variable(1.0)
    tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    tf.add_to_collection("odd", object())
    made = tf.train.export_meta_graph(
        path, collection_list=["variables", "odd", "none"], clear_devices=True, as_text=True
    )
    assert list(made.collection_def) == ["variables"] and not made.HasField("saver_def")
    assert "the collection 'odd' is left out" in caplog.text
    assert all(not node.device for node in made.graph().node)
    text = open(path).read()
    assert 'op: "VariableV2"' in text and 'key: "variables"' in text and "/job:ps" not in text
    assert "savers" in tf.train.export_meta_graph().collection_def
    assert "savers" not in tf.train.export_meta_graph(clear_extraneous_savers=True).collection_def


def test_without_a_saver_one_is_made_for_the_variables(path):
    tf.Variable(1.0, name="v")
    made = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(made)
        assert saver.saver_def.restore_op_name == "save/restore_all"
    with tf.Graph().as_default():
        tf.constant(1)
        nothing = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(nothing) is None


def test_files_that_are_no_meta_graphs_are_refused(path):
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(path)
    with open(path, "wb") as file:
        file.write(b"\x0a\xff")
    with pytest.raises(ValueError, match=path):
        tf.train.import_meta_graph(path)


def test_a_variable_of_a_definition():
    variable = tf.Variable(1.0, name="v")
    definition = variable.to_proto()
    assert definition.variable_name == "v:0" and definition.initializer_name == "v/Assign"
    assert definition.snapshot_name == "v/read:0" and definition.trainable
    assert definition.initial_value_name == "v/initial_value:0"
    assert variable.to_proto(export_scope="other") is None
    again = tf.Variable(variable_def=definition)
    assert again.op is variable.op and again.initializer is variable.initializer
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.Variable(1.0, variable_def=definition)


def test_a_scope_is_exported_alone(path, session):
    outside = tf.placeholder(tf.float32, [], name="outside")
    with tf.name_scope("hidden"):
        weight = tf.Variable(2.0, name="w")
        product = tf.multiply(outside, weight, name="product")
        with tf.colocate_with(weight.op):
            tf.add_to_collection("mine", tf.identity(product, name="y"))
    tf.add_to_collection("mine", outside)
    saver = tf.train.Saver(name="hidden/save")
    session.run(tf.global_variables_initializer())
    saver.save(session, path, write_meta_graph=False)
    part = tf.train.export_meta_graph(path + ".meta", export_scope="hidden")
    assert "outside" not in [node.name for node in part.graph().node]
    with tf.Graph().as_default(), tf.Session() as other:
        with pytest.raises(ValueError, match=r"unbound inputs: \$unbound_inputs_outside"):
            tf.train.import_meta_graph(path + ".meta")
    with tf.Graph().as_default(), tf.Session() as other:
        x = tf.constant(5.0)
        tf.train.import_meta_graph(
            path + ".meta", input_map={"$unbound_inputs_outside": x}, import_scope="new"
        )
        (variable,) = tf.global_variables()
        assert variable.op.name == "new/w"
        (mine,) = tf.get_collection("mine")
        assert mine.name == "new/y:0"
        other.run(tf.global_variables_initializer())
        assert other.run(mine) == 10.0
    with pytest.raises(ValueError, match="can't both be given"):
        tf.train.export_meta_graph(graph_def=session.graph.as_graph_def(), export_scope="hidden")


def test_a_graph_in_text_form_is_imported(path, session):
    tf.identity(tf.Variable([1.0, 2.0], name="v"), name="y")
    tf.train.export_meta_graph(path, as_text=True)
    with tf.Graph().as_default(), tf.Session() as other:
        assert tf.train.import_meta_graph(path) is not None
        other.run(tf.global_variables_initializer())
        assert other.run("y:0").tolist() == [1.0, 2.0]
    with open(path, "a") as file:
        file.write("graph_def { node { name: 7 } }\n")
    with pytest.raises(ValueError, match="line .*7 is no string in quotes"):
        tf.train.import_meta_graph(path)


def test_branches_and_loops_come_back_as_such(path):
    flag, limit = tf.placeholder(tf.bool, name="flag"), tf.constant(10, name="limit")

    def branch():
        return tf.while_loop(lambda i: i < limit, lambda i: i + 3, [0], name="inner")

    tf.cond(flag, branch, lambda: tf.constant(7), name="choice")
    first = tf.train.export_meta_graph(path)
    found = first.collection_def
    assert len(found["cond_context"].bytes_list.value) == 2 and "while_context" not in found
    with tf.Graph().as_default() as graph, tf.Session():
        tf.train.import_meta_graph(path)
        again = tf.train.export_meta_graph()
        assert again.collection_def["cond_context"] == found["cond_context"]
        inside = next(op for op in graph.get_operations() if op.type == "NextIteration")
        with pytest.raises(ValueError, match="made inside"):
            with tf.control_dependencies(None):
                tf.cond(graph.get_tensor_by_name("flag:0"), lambda: inside.outputs[0] + 1, branch)


def test_attributes_with_their_defaults_may_be_left_out(path):
    product = tf.matmul([[1.0]], [[2.0]], transpose_a=True, name="product")
    tf.Variable(product, name="v")
    made = tf.train.export_meta_graph(path, strip_default_attrs=True)
    assert made.meta_info_def.stripped_default_attrs
    attrs = {node.name: set(node.attr) for node in made.graph().node}
    assert attrs["product"] == {"T", "transpose_a"} and "container" not in attrs["v"]
    with tf.Graph().as_default(), tf.Session() as other:
        tf.train.import_meta_graph(path)
        other.run(tf.global_variables_initializer())
        assert other.run("v:0").tolist() == [[2.0]]

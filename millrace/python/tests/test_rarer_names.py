"""Names that few programs use: creators of variables, layers' aliases, vocabularies, messages ..."""

import functools
import pickle

import numpy as np
import pytest

import millrace as tf


def test_creators_have_a_say_when_variables_are_made(session):
    seen = []

    def doubling(next_creator, **arguments):
        seen.append(arguments["name"])
        value = arguments["initial_value"]
        arguments["initial_value"] = lambda: 2.0 * (value() if callable(value) else value)
        return next_creator(**arguments)

    def local(next_creator, **arguments):
        arguments["collections"] = [tf.GraphKeys.LOCAL_VARIABLES]
        arguments["trainable"] = False
        return next_creator(**arguments)

    with tf.variable_creator_scope(local), tf.variable_creator_scope(doubling):
        a = tf.Variable(3.0, name="a")
        b = tf.get_variable("b", [], initializer=tf.ones_initializer())
    c = tf.Variable(3.0, name="c")
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    assert session.run([a, b, c]) == [6.0, 2.0, 3.0]
    assert seen == ["a", "b"] and tf.local_variables() == [a, b] and tf.global_variables() == [c]

    def replacing(next_creator, **arguments):
        return c

    with tf.variable_creator_scope(replacing):
        assert tf.Variable(1.0) is c


def test_a_creator_may_be_in_several_scopes():
    asked = []

    def creator(name):
        def made(next_creator, **arguments):
            asked.append(name)
            return next_creator(**arguments)

        return made

    outer, inner = creator("outer"), creator("inner")
    with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
        with tf.variable_creator_scope(outer):
            tf.Variable(1.0)
        tf.Variable(2.0)
    assert asked == ["outer", "inner", "outer", "inner", "outer"]


def test_what_is_known_of_a_tensor():
    spec = tf.TensorSpec([None, 3], tf.int32, name="ids")
    assert spec.is_compatible_with(tf.zeros([2, 3], tf.int32))
    assert not spec.is_compatible_with(tf.zeros([2, 3]))
    assert spec == tf.contrib.framework.TensorSpec.from_spec(spec) != tf.TensorSpec([3], tf.int32)
    assert "(?, 3)" in repr(spec) or "None" in repr(spec)


def test_what_would_be_compiled_runs_as_it_is(session):
    def computation(x, y):
        return x + y, {"product": x * y}

    total, more = tf.xla.experimental.compile(computation, [2.0, tf.constant(3.0)])
    assert session.run([total, more["product"]]) == [5.0, 6.0]
    (alone,) = tf.xla.experimental.compile(lambda: tf.constant(1))
    assert session.run(alone) == 1
    counter = tf.get_variable("n", [], initializer=tf.zeros_initializer())
    session.run(tf.global_variables_initializer())
    made = tf.xla.experimental.compile(lambda: [counter.assign_add(1.0).op, tf.constant(7)])
    assert session.run(made) == (7,) and session.run(counter) == 1.0
    assert isinstance(tf.xla.experimental.compile(lambda: None), tf.Operation)


def test_names_of_arguments():
    from millrace.python.util.function_utils import fn_args

    class Called:
        def __call__(self, a, b):
            pass

        def method(self, c):
            pass

    assert fn_args(lambda x, y=1: 0) == ("x", "y")
    assert fn_args(Called()) == ("a", "b") and fn_args(Called().method) == ("c",)
    assert fn_args(functools.partial(lambda x, y, z: 0, 1, z=2)) == ("y",)


def test_nodes_and_what_they_need(graph):
    from millrace.python.framework import graph_util_impl

    a = tf.constant(1.0, name="a")
    b = tf.add(a, a, name="b")
    with tf.control_dependencies([b]):
        tf.constant(2.0, name="c")
    inputs, nodes, places = graph_util_impl._extract_graph_summary(graph.as_graph_def())
    assert inputs == {"a": [], "b": ["a", "a"], "c": ["b"]}
    assert nodes["b"].op == "Add" and places == {"a": 0, "b": 1, "c": 2}
    assert graph_util_impl._bfs_for_reachable_nodes(["b"], inputs) == {"a", "b"}


def test_slices_of_all(session):
    from millrace.python.ops.math_ops import _as_indexed_slices_list

    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2], tf.int64))
    first, second = _as_indexed_slices_list([slices, tf.constant([[5.0], [6.0]])])
    assert first.indices.dtype == second.indices.dtype == tf.int64
    assert session.run(second.indices).tolist() == [0, 1]


def test_texts_as_numbers_of_words(tmp_path):
    preprocessing = tf.contrib.learn.preprocessing
    texts = ["the cat and the dog", "the bird's nest, again", "a dog"]
    processor = preprocessing.VocabularyProcessor(4, min_frequency=1)
    rows = np.array(list(processor.fit_transform(texts)))
    assert rows.tolist() == [[1, 0, 0, 1], [1, 0, 0, 0], [0, 2, 0, 0]]
    assert list(processor.reverse(rows))[2] == "<UNK> dog <UNK> <UNK>"
    processor.save(tmp_path / "vocabulary")
    again = preprocessing.VocabularyProcessor.restore(tmp_path / "vocabulary")
    assert len(again.vocabulary_) == 3
    assert next(again.transform(["dog the new"])).tolist() == [2, 1, 0, 0]
    assert list(preprocessing.tokenizer(["NASA isn't far-off, HelloWorld"])) == [
        ["NASA", "isn't", "far-off", "Hello", "World"]
    ]
    as_bytes = list(preprocessing.ByteProcessor(4).transform(["abc", "abcdef"]))
    assert [row.tolist() for row in as_bytes] == [[97, 98, 99, 0], [97, 98, 99, 100]]


def test_a_vocabulary_that_tensorflow_saved_is_read(tmp_path):
    preprocessing = tf.contrib.learn.preprocessing
    saved = preprocessing.VocabularyProcessor(3)
    saved.fit(["a b a"])
    home = b"ctensorflow.contrib.learn.python.learn.preprocessing"
    data = pickle.dumps(saved, protocol=0)
    for name, module in (
        (b"VocabularyProcessor", b".text"),
        (b"tokenizer", b".text"),
        (b"CategoricalVocabulary", b".categorical_vocabulary"),
    ):
        ours = b"cmillrace._samples.vocabularies\n" + name
        assert ours in data
        data = data.replace(ours, home + module + b"\n" + name)
    (tmp_path / "vocabulary").write_bytes(data)
    again = preprocessing.VocabularyProcessor.restore(tmp_path / "vocabulary")
    assert [row.tolist() for row in again.transform(["b c a"])] == [[2, 0, 1]]


def test_places_in_lists_by_older_names(session):
    numbers = tf.contrib.lookup.string_to_index(tf.constant(["b", "z"]), tf.constant(["a", "b"]))
    words = tf.contrib.lookup.index_to_string(
        tf.constant([1, 7], tf.int64), tf.constant(["a", "b"])
    )
    session.run(tf.tables_initializer())
    assert session.run(numbers).tolist() == [1, -1]
    assert session.run(words).tolist() == [b"b", b"UNK"]


def test_layers_outputs_by_the_names_of_the_layers(capsys):
    slim = tf.contrib.slim
    x = tf.placeholder(tf.float32, [2, 8, 8, 3])
    with slim.arg_scope([slim.conv2d, slim.max_pool2d], outputs_collections="ends"):
        net = slim.conv2d(x, 4, [3, 3], scope="first")
        net = slim.max_pool2d(net, [2, 2], scope="pool")
    ends = slim.utils.convert_collection_to_dict("ends", clear_collection=True)
    assert sorted(ends) == ["first", "pool"] and ends["pool"] is net
    assert tf.get_collection("ends") == []
    assert slim.utils.get_tensor_aliases(x) == ["Placeholder"]
    total, size = slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True)
    assert (total, size) == (3 * 3 * 3 * 4 + 4, 4 * 112)
    assert "first/weights:0 (float32 3x3x3x4) [108, bytes: 432]" in capsys.readouterr().out
    assert slim.model_analyzer.analyze_ops(tf.get_default_graph()) > 112


def test_summaries_of_activations(session):
    made = tf.nn.relu(tf.constant([-1.0, 2.0, 3.0, -4.0]), name="layer")
    tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, made)
    (histogram,) = tf.contrib.layers.summarize_activations()
    text = session.run(tf.summary.merge_all())
    summary = tf.Summary()
    summary.ParseFromString(text)
    assert {value.tag for value in summary.value} == {"layer/zeros", "layer/activation"}
    assert isinstance(histogram, tf.Tensor)


def test_messages_where_programs_look_for_them():
    from millrace.core.framework import graph_pb2
    from millrace.core.protobuf import config_pb2, rewriter_config_pb2

    assert config_pb2.ConfigProto is tf.ConfigProto and graph_pb2.GraphDef is tf.GraphDef
    options = rewriter_config_pb2.RewriterConfig(
        layout_optimizer=rewriter_config_pb2.RewriterConfig.OFF
    )
    tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(rewrite_options=options)))


def test_machine_code_of_tensorflows_is_refused():
    with pytest.raises(NotImplementedError, match="custom.so.*tf.py_func"):
        tf.load_op_library("custom.so")


def test_cells_and_layers_from_inside():
    from millrace.python.keras.layers import Dense
    from millrace.python.layers.pooling import max_pooling2d
    from millrace.python.ops.rnn_cell import BasicLSTMCell

    assert BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    assert max_pooling2d is tf.layers.max_pooling2d and Dense is tf.keras.layers.Dense


def test_estimators_and_their_heads_from_inside():
    from millrace.python.estimator import estimator as inner
    from millrace.python.estimator.canned import dnn, head, optimizers, prediction_keys
    from millrace.python.estimator.inputs import numpy_io
    from millrace.python.feature_column import feature_column_lib

    assert (
        dnn.DNNClassifier is tf.estimator.DNNClassifier
        and inner.Estimator is tf.estimator.Estimator
    )
    assert numpy_io.numpy_input_fn is tf.estimator.inputs.numpy_input_fn
    assert feature_column_lib.input_layer is tf.feature_column.input_layer
    made = head._multi_class_head_with_softmax_cross_entropy_loss(3, weight_column="w")
    assert made.logits_dimension == 3
    assert head._binary_logistic_head_with_sigmoid_cross_entropy_loss().logits_dimension == 1
    assert prediction_keys.PredictionKeys.PROBABILITIES == "probabilities"
    chosen = optimizers.get_optimizer_instance("Ftrl", learning_rate=0.1)
    assert isinstance(chosen, tf.train.FtrlOptimizer)

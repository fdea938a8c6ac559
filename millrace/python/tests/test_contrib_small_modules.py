"""tf.contrib.data, deprecated, lookup, predictor, signal and util: older names, and what stands behind them."""

import pytest

import millrace as tf

contrib = tf.contrib


def _all(session, dataset):
    """All elements of a dataset."""
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    while True:
        try:
            found.append(session.run(following))
        except tf.errors.OutOfRangeError:
            return found


def test_keras_is_found_where_it_was_before():
    from millrace.contrib.keras import layers

    assert layers is tf.keras.layers and contrib.keras.models is tf.keras.models
    assert contrib.keras.datasets.cifar10 is tf.keras.datasets.cifar10
    with pytest.raises(AttributeError, match="tf.contrib.keras.api"):
        contrib.keras.api


def test_windows_of_elements_overlap(session):
    numbers = tf.data.Dataset.range(6)
    slide = contrib.data.sliding_window_batch
    assert [list(each) for each in _all(session, numbers.apply(slide(3)))] == [
        [0, 1, 2],
        [1, 2, 3],
        [2, 3, 4],
        [3, 4, 5],
    ]
    named = numbers.map(lambda x: {"x": x, "y": -x})
    found = _all(session, named.apply(slide(2, window_shift=2, window_stride=2)))
    assert [list(each["y"]) for each in found] == [[0, -2], [-2, -4]]
    with pytest.raises(ValueError, match="both `stride` and `window_shift`"):
        slide(2, stride=1, window_shift=1)


def test_shapes_of_elements_are_known_once_they_are_checked(session):
    check = contrib.data.assert_element_shape
    parts = tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3]]), tf.int32)
    made = parts.apply(check(tf.TensorShape([2])))
    assert made.output_shapes.as_list() == [2]
    following = made.make_one_shot_iterator().get_next()
    assert list(session.run(following)) == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(following)
    with pytest.raises(ValueError, match="2 shapes for elements of 1"):
        parts.apply(check((tf.TensorShape([2]), tf.TensorShape([2]))))
    sparse = tf.data.Dataset.from_tensors(tf.SparseTensor([[0]], [1], [2]))
    assert sparse.apply(check(None)).element_spec.dtype == tf.int32
    with pytest.raises(ValueError, match="is sparse or ragged"):
        sparse.apply(check(tf.TensorShape([2])))


@pytest.fixture
def files(tmp_path):
    """Two files of Examples with x = 0 ... 5."""
    for number in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"part{number}")) as writer:
            for x in range(3 * number, 3 * number + 3):
                example = tf.train.Example()
                example.features.feature["x"].int64_list.value.append(x)
                example.features.feature["words"].bytes_list.value.extend([b"w"] * x)
                writer.write(example.SerializeToString())
    return str(tmp_path / "part*")


FEATURES = {"x": tf.FixedLenFeature([], tf.int64), "words": tf.VarLenFeature(tf.string)}


def test_files_of_examples_become_groups_of_features(session, files):
    fixed = {"x": FEATURES["x"], "y": tf.FixedLenFeature([2], tf.float32, [1.0, 2.0])}
    made = contrib.data.make_batched_features_dataset(
        files, 4, fixed, label_key="x", num_epochs=1, shuffle=False
    )
    (features, x), (_, last) = _all(session, made)
    assert list(x) == [0, 1, 2, 3] and list(last) == [4, 5]
    assert features["y"].tolist() == [[1.0, 2.0]] * 4 and "x" not in features
    shuffled = tf.data.experimental.make_batched_features_dataset(
        files, 3, fixed, num_epochs=2, shuffle_seed=1
    )
    found = [x for each in _all(session, shuffled) for x in each["x"]]
    assert sorted(found) == sorted([*range(6)] * 2)
    sparse = contrib.data.make_batched_features_dataset(
        files, 4, FEATURES, num_epochs=1, shuffle=False
    )
    first, last = (each["words"] for each in _all(session, sparse))
    assert first.dense_shape.tolist() == [4, 3] and last.dense_shape.tolist() == [2, 5]


def test_groups_of_examples_are_parsed_to_features_in_two_parts_too(session):
    example = tf.train.Example()
    example.features.feature["at"].int64_list.value.extend([3, 1])
    example.features.feature["of"].float_list.value.extend([0.5, 1.5])
    batches = tf.data.Dataset.from_tensors([example.SerializeToString()] * 2)
    features = {"s": tf.SparseFeature("at", "of", tf.float32, 5), "at": tf.VarLenFeature(tf.int64)}
    made = batches.apply(tf.data.experimental.parse_example_dataset(features, 2))
    assert made.output_types == {"s": tf.float32, "at": tf.int64}
    (found,) = _all(session, made)
    assert found["s"].indices.tolist() == [[0, 1], [0, 3], [1, 1], [1, 3]]
    assert found["s"].values.tolist() == [1.5, 0.5, 1.5, 0.5]
    assert found["at"].dense_shape.tolist() == [2, 2]
    for wrong in (batches.unbatch(), tf.data.Dataset.range(3)):
        with pytest.raises(TypeError, match="dataset of vectors of strings"):
            wrong.apply(tf.data.experimental.parse_example_dataset(features))


def test_the_next_group_of_examples_may_be_sparse(session, files):
    once = contrib.data.read_batch_features(files, 4, FEATURES, randomize_input=False, num_epochs=1)
    found = session.run(once)
    assert list(found["x"]) == [0, 1, 2, 3]
    assert list(found["words"].dense_shape) == [4, 3] and len(found["words"].values) == 6
    endless = contrib.data.read_batch_features(files, 4, FEATURES)
    assert endless["x"].shape.as_list() == [4]
    assert session.run(endless)["x"].shape == (4,)


@pytest.mark.parametrize("shuffles", [True, False])
def test_queues_give_batches_of_examples(session, files, shuffles):
    features = contrib.learn.read_batch_features(
        files, 4, FEATURES, tf.TFRecordReader, randomize_input=shuffles, num_epochs=2
    )
    session.run(tf.local_variables_initializer())
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    batches = [session.run(features) for _ in range(3)]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(features)
    coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=60)
    found = [x for batch in batches for x in batch["x"]]
    assert sorted(found) == sorted([*range(6)] * 2) and (shuffles or found == [*range(6)] * 2)
    assert [len(batch["words"].values) for batch in batches] == [sum(b["x"]) for b in batches]


def test_readers_that_are_none_are_refused(graph, files):
    read, whole = contrib.learn.read_batch_features, tf.data.TFRecordDataset
    for error, arguments in (
        (ValueError, (files + "nothing", 2, FEATURES, tf.TFRecordReader)),
        (TypeError, (files, 2, FEATURES, lambda: whole(files))),
    ):
        with pytest.raises(error):
            read(*arguments)
    with pytest.raises(NotImplementedError, match="parse_fn="):
        read(files, 2, FEATURES, tf.TFRecordReader, parse_fn=lambda x: x)


def test_files_of_examples_are_refused_in_words(files):
    with pytest.raises(ValueError, match="must be one of the `features` keys"):
        contrib.data.make_batched_features_dataset(files, 4, FEATURES, label_key="y")
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        contrib.data.make_batched_features_dataset(files, 4, FEATURES, reader=lambda name: name)


def test_tags_of_older_summaries_are_what_the_program_says(session):
    deprecated = contrib.deprecated
    with tf.name_scope("scope"):
        deprecated.scalar_summary(["a b", "c"], [1.0, 2.0])
        deprecated.histogram_summary("h", [1.0, 2.0])
        deprecated.image_summary("i", tf.zeros([1, 2, 2, 1]))
        deprecated.audio_summary("s", tf.zeros([1, 4]), 8000.0)
    held = tf.Summary.FromString(session.run(deprecated.merge_all_summaries()))
    assert [value.tag for value in held.value] == ["a b", "c", "h", "i/image/0", "s/audio/0"]
    alone = deprecated.merge_summary([deprecated.scalar_summary("z", 3.0, collections=[])])
    assert tf.Summary.FromString(session.run(alone)).value[0].simple_value == 3.0


def test_tables_of_strings_have_their_older_names(session, tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    lookup = contrib.lookup
    tables = [
        lookup.string_to_index_table_from_file(str(tmp_path / "words")),
        lookup.string_to_index_table_from_tensor(["a", "b"], default_value=-1),
    ]
    session.run(tf.tables_initializer())
    for table in tables:
        assert list(session.run(table.lookup(tf.constant(["b", "c"])))) == [1, -1]
    with pytest.raises(ValueError, match="requires string"):
        lookup.string_to_index_table_from_tensor([1, 2])
    filled = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), 0)
    assert isinstance(filled, lookup.InitializableLookupTableBase)


def test_the_ops_of_a_graph_are_told(graph):
    tf.constant(1.0) + tf.sqrt(2.0)
    used = contrib.util.ops_used_by_graph_def(graph.as_graph_def())
    assert {"Const", "Sqrt"} <= used and used <= {"Const", "Sqrt", "Add", "AddV2"}
    made = contrib.util.make_ndarray(contrib.util.make_tensor_proto([1, 2]))
    assert list(made) == [1, 2] and contrib.util.constant_value(tf.constant(3)) == 3


def test_signals_have_their_older_names(session):
    frames = contrib.signal.frame(tf.range(5.0), 3, 2)
    assert session.run(frames).tolist() == [[0, 1, 2], [2, 3, 4]]
    assert contrib.signal.stft is tf.signal.stft


@pytest.fixture
def exported(session, tmp_path):
    x = tf.placeholder(tf.float32, [None], name="x")
    factor = tf.Variable(3.0)
    y = tf.multiply(x, factor, name="y")
    session.run(tf.global_variables_initializer())
    folder = str(tmp_path / "model")
    tf.saved_model.simple_save(session, folder, {"in": x}, {"out": y})
    return folder


def test_a_saved_model_is_a_function_from_arrays_to_arrays(exported):
    predict = contrib.predictor.from_saved_model(exported)
    assert list(predict({"in": [1.0, 2.0]})["out"]) == [3.0, 6.0]
    assert predict.feed_tensors["in"].graph is predict.graph and "in" in repr(predict)
    with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]"):
        predict({"z": 1})
    named = contrib.predictor.from_saved_model(
        exported, input_names={"a": "x:0"}, output_names={"b": "y:0"}
    )
    assert list(named({"a": [2.0]})["b"]) == [6.0]
    for each in (predict, named):
        each.session.close()
    for arguments, text in (
        ({"signature_def_key": "other"}, "Available signatures are"),
        ({"input_names": {}}, "must both be specified"),
        ({"signature_def_key": "a", "signature_def": object()}, "at most one of"),
    ):
        with pytest.raises(ValueError, match=text):
            contrib.predictor.from_saved_model(exported, **arguments)


def test_an_estimator_is_a_function_from_arrays_to_arrays(tmp_path):
    def model(features, labels, mode):
        w = tf.get_variable("w", initializer=2.0)
        y = features["x"] * w
        outputs = {"serving_default": tf.estimator.export.PredictOutput({"y": y})}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, {"y": y}, export_outputs=outputs)
        loss = tf.reduce_mean(tf.square(y - labels))
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    estimator = tf.estimator.Estimator(model, str(tmp_path))
    estimator.train(lambda: ({"x": tf.constant([1.0])}, tf.constant([3.0])), steps=1)

    def receiver():
        x = tf.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    predict = contrib.predictor.from_estimator(estimator, receiver)
    assert list(predict({"x": [1.0, 2.0]})["y"]) == [3.0, 6.0]
    predict.session.close()
    with pytest.raises(KeyError, match="output_key must be one of"):
        contrib.predictor.from_estimator(estimator, receiver, "other")
    with pytest.raises(TypeError, match="Expected estimator"):
        contrib.predictor.from_estimator(object(), receiver)

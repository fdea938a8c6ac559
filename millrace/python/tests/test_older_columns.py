"""tf.contrib.layers' feature columns, beside those of tf.feature_column."""

import numpy as np
import pytest

import millrace as tf

layers, column = tf.contrib.layers, tf.feature_column
FEATURES = {
    "x": np.float32([[1.0, 2.0], [3.0, -4.0], [0.5, 0.0]]),
    "age": np.float32([[10], [40], [70]]),
    "word": np.array([["a", "b"], ["c", ""], ["b", "zz"]]),
    "number": np.array([[1, 7], [-1, 12], [5, 5]]),
    "weight": np.float32([[0.5, 2.0], [1.0, 0.0], [3.0, 1.0]]),
}
ONES = tf.ones_initializer()


def features():
    return {key: tf.constant(value) for key, value in FEATURES.items()}


def older_and_ours():
    """Pairs of columns that give the same numbers."""
    word = layers.sparse_column_with_keys("word", ["a", "b", "c"])
    our_word = column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    age = layers.real_valued_column("age")
    x = layers.real_valued_column("x", 2, normalizer=lambda x: x * 2.0)
    bounds = [20.0, 60.0]
    hashed = layers.sparse_column_with_hash_bucket("word", 5)
    our_buckets = column.bucketized_column(column.numeric_column("age"), bounds)
    return [
        (x, column.numeric_column("x", [2], normalizer_fn=lambda x: x * 2.0)),
        (layers.bucketized_column(age, [20.0, 20.0, 60.0]), our_buckets),
        (layers.one_hot_column(word), column.indicator_column(our_word)),
        (
            layers.one_hot_column(layers.weighted_sparse_column(word, "weight")),
            column.indicator_column(column.weighted_categorical_column(our_word, "weight")),
        ),
        (
            layers.embedding_column(hashed, 3, initializer=tf.constant_initializer(0.25)),
            column.embedding_column(
                column.categorical_column_with_hash_bucket("word", 5),
                3,
                initializer=tf.constant_initializer(0.25),
            ),
        ),
    ]


def run(session, tensor):
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    return session.run(tensor)


@pytest.mark.parametrize("which", range(5))
def test_each_column_gives_what_todays_gives(session, which):
    older, ours = older_and_ours()[which]
    made = layers.input_from_feature_columns(features(), [older])
    found, theirs, again = run(
        session,
        [made, column.input_layer(features(), [ours]), column.input_layer(features(), [older])],
    )
    np.testing.assert_allclose(found, theirs)
    np.testing.assert_allclose(found, again)  # the older one goes where today's go
    assert made.shape.as_list()[1] == found.shape[1]
    assert older.config == ours.parse_example_spec


def test_integers_are_ids_by_what_is_left(session):
    number = layers.sparse_column_with_integerized_feature("number", 5)
    made = layers.input_from_feature_columns(features(), [layers.one_hot_column(number)])
    assert run(session, made).tolist() == [[0, 1, 1, 0, 0], [0, 0, 1, 0, 0], [2, 0, 0, 0, 0]]
    assert number.length == 5 and number.name == "number"


def test_a_file_has_the_ids(session, tmp_path):
    (tmp_path / "words").write_text("c\nb\n")
    word = layers.sparse_column_with_vocabulary_file("word", str(tmp_path / "words"), 1, 2)
    made = layers.input_from_feature_columns(features(), [layers.one_hot_column(word)])
    assert run(session, made).tolist() == [[0, 1, 1], [1, 0, 0], [0, 1, 1]]


def test_variables_have_contribs_names_and_columns_contribs_order(session):
    word = layers.sparse_column_with_hash_bucket("word", 5)
    outs = {}
    made = layers.input_from_feature_columns(
        features(),
        [
            layers.real_valued_column("x", 2),
            layers.real_valued_column("age"),
            layers.embedding_column(word, 3),
        ],
        cols_to_outs=outs,
        weight_collections=["mine"],
    )
    (weights,) = tf.get_collection("mine")
    assert weights.op.name == "input_from_feature_columns/word_embedding/weights"
    assert weights.shape.as_list() == [5, 3] and len(outs) == 3
    found = run(session, made)
    # Embeddings before numbers, as the names of TensorFlow's classes are, and then by name.
    np.testing.assert_array_equal(found[:, 3:], np.hstack([FEATURES["age"], FEATURES["x"]]))


def test_a_weighted_sum_counts_each_category_and_number(session):
    word = layers.sparse_column_with_keys("word", ["a", "b", "c"], combiner="mean")
    age = layers.real_valued_column("age")
    buckets = layers.bucketized_column(age, [20.0])
    crossed = layers.crossed_column([layers.sparse_column_with_hash_bucket("word", 9), buckets], 7)
    columns = [word, age, buckets, crossed, layers.weighted_sparse_column(word, "weight")]
    made, variables, bias = layers.weighted_sum_from_feature_columns(features(), columns, 2)
    scope = "weighted_sum_from_feature_columns/"
    assert sorted(v.op.name.removeprefix(scope) for v in tf.global_variables()) == [
        "age/weight",
        "age_bucketized/weights",
        "age_bucketized_X_word/weights",
        "bias_weight",
        "word/weights",
        "word_weighted_by_weight/weights",
    ]
    assert bias.op.name == scope + "bias_weight" and set(variables) == set(columns)
    assert run(session, made).tolist() == np.zeros([3, 2]).tolist()
    for each in columns:
        (variable,) = variables[each]
        session.run(tf.assign(variable, tf.ones(variable.shape)))
    # The mean of words, the number, a bucket, words that are crossed, weights over their sum.
    expected = [1 + 10 + 1 + 2 + 1, 1 + 40 + 1 + 2 + 1, 1 + 70 + 1 + 2 + 1]
    np.testing.assert_allclose(session.run(made)[:, 0], expected, rtol=1e-6)


def test_a_cross_has_the_ids_that_todays_has(session):
    ages = layers.bucketized_column(layers.real_valued_column("age"), [20.0, 60.0])
    word = layers.sparse_column_with_hash_bucket("word", 5)
    crossed = layers.crossed_column([word, ages], 11)
    ours = column.crossed_column(
        [column.bucketized_column(column.numeric_column("age"), [20.0, 60.0]), "word"], 11
    )
    assert crossed.name == ours.name == "age_bucketized_X_word" and crossed.length == 11
    both = [
        column.input_layer(features(), [column.indicator_column(each)]) for each in (crossed, ours)
    ]
    first, second = run(session, both)
    np.testing.assert_array_equal(first, second)
    nested = layers.crossed_column([crossed, layers.sparse_column_with_hash_bucket("number", 3)], 4)
    assert nested.name == "age_bucketized_X_word_X_number"


def test_columns_share_a_table(session):
    pair = [
        layers.sparse_column_with_hash_bucket(name, 5, dtype=kind)
        for name, kind in (("word", tf.string), ("number", tf.int64))
    ]
    shared = layers.shared_embedding_columns(pair, 3)
    made = layers.input_from_feature_columns(features(), shared)
    assert run(session, made).shape == (3, 6)
    (table,) = tf.global_variables()
    name = "number_word_shared_embedding"
    assert table.op.name == f"input_from_feature_columns/number_shared_embedding/{name}"
    other = layers.sparse_column_with_hash_bucket("other", 6)
    for given, error in (
        (pair[0], TypeError),
        ([], ValueError),
        ([layers.real_valued_column("x")], TypeError),
        ([pair[0], other], ValueError),
    ):
        with pytest.raises(error):
            layers.shared_embedding_columns(given, 3)


def test_examples_are_parsed_for_columns(session):
    word = layers.sparse_column_with_keys("word", ["a", "b"])
    columns = [layers.one_hot_column(word), layers.real_valued_column("age", default_value=5)]
    spec = layers.create_feature_spec_for_parsing(columns)
    assert set(spec) == {"word", "age"}
    example = tf.train.Example()
    example.features.feature["word"].bytes_list.value.extend([b"b"])
    parsed = layers.parse_feature_columns_from_examples(
        tf.constant([example.SerializeToString()]), columns
    )
    assert set(parsed) == {"word", "age", *columns}
    made = layers.input_from_feature_columns(parsed, columns)
    assert run(session, made).tolist() == [[0, 1, 5]]
    assert set(layers.transform_features(features(), columns)) == set(columns)


def test_numbers_are_found_in_features():
    inferred = layers.infer_real_valued_columns({"x": tf.zeros([4, 2]), "n": tf.zeros([4])})
    assert [(each.column_name, each.dimension) for each in inferred] == [("x", 2), ("n", 1)]
    with pytest.raises(ValueError, match="Non integer or non floating"):
        layers.infer_real_valued_columns(tf.constant(["a"]))


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: layers.real_valued_column("x", 1.5), TypeError, "must be an integer"),
        (lambda: layers.real_valued_column("x", 0), ValueError, "greater than 0"),
        (lambda: layers.sparse_column_with_hash_bucket("w", 0), ValueError, "at least 1"),
        (
            lambda: layers.sparse_column_with_hash_bucket("w", 2, hash_keys=[[1, 2]]),
            NotImplementedError,
            "hash_keys= must be None",
        ),
        (
            lambda: layers.sparse_column_with_integerized_feature("w", 2, dtype=tf.string),
            ValueError,
            "must be an integer",
        ),
        (lambda: layers.sparse_column_with_vocabulary_file("w", "f"), ValueError, "vocab_size"),
        (
            lambda: layers.bucketized_column(column.numeric_column("x"), [1]),
            TypeError,
            "_RealValuedColumn",
        ),
        (
            lambda: layers.bucketized_column(layers.real_valued_column("x"), [2, 1]),
            ValueError,
            "sorted",
        ),
        (lambda: layers.crossed_column([], 5), ValueError, "at least 2 elements"),
        (
            lambda: layers.crossed_column([layers.real_valued_column("x")] * 2, 5),
            TypeError,
            "must be a set of",
        ),
        (
            lambda: layers.input_from_feature_columns(
                {}, [layers.sparse_column_with_hash_bucket("w", 5)]
            ),
            ValueError,
            "not supported in DNN",
        ),
        (
            lambda: layers.check_feature_columns([layers.real_valued_column("x")] * 2),
            ValueError,
            "Duplicate feature column key",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_todays_estimators_take_older_columns(tmp_path):
    word = layers.sparse_column_with_keys("word", ["a", "b", "c"])
    wide = [word, layers.real_valued_column("age", normalizer=lambda x: x / 100.0)]
    deep = [layers.embedding_column(word, 2)]
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        str(tmp_path), linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[3]
    )
    estimator.train(lambda: (features(), tf.constant([[0], [1], [1]])), steps=2)
    assert estimator.get_variable_value("global_step") == 2

"""Combinations of features: tf.sparse.cross, and columns of them."""

import pytest

import millrace as tf

fc = tf.feature_column


@pytest.fixture
def run(session):
    def fetch(tensors):
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(tensors)

    return fetch


def test_each_element_of_a_row_is_joined_with_each_of_the_others(run):
    sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2])
    made = run(tf.sparse.cross([sparse, tf.constant([["x"], ["y"]])]))
    assert made.values.tolist() == [b"a_X_x", b"b_X_x", b"c_X_y"]
    assert made.indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert made.dense_shape.tolist() == [2, 2]


def test_hashes_are_in_their_buckets_and_have_a_key(run):
    inputs = [tf.constant([["a"], ["b"]]), tf.constant([[1], [2]], tf.int32)]
    found = run([tf.sparse.cross_hashed(inputs, 10, key).values for key in (None, 1)])
    assert all(0 <= bucket < 10 for values in found for bucket in values)
    assert found[0].tolist() != found[1].tolist()
    assert run(tf.sparse.cross_hashed(inputs).values).min() >= 10
    with pytest.raises(TypeError, match="must be a list"):
        tf.sparse.cross(inputs[0])
    with pytest.raises(TypeError, match="not of float32"):
        tf.sparse.cross([tf.constant([[1.0]])])


def columns():
    price = fc.bucketized_column(fc.numeric_column("price"), [1.0, 2.0])
    colour = fc.categorical_column_with_vocabulary_list("colour", ["red", "green"])
    return price, colour


FEATURES = {"price": [[0.5], [1.5]], "colour": [["red"], ["green"]], "shape": [["o"], ["x"]]}


def test_a_cross_of_features_is_that_of_their_tensors(run):
    column = fc.crossed_column(["colour", "shape"], 1000)
    assert (column.name, column.num_buckets) == ("colour_X_shape", 1000)
    found = run(fc.input_layer(FEATURES, [fc.indicator_column(column)]))
    texts = [tf.constant(FEATURES[key]) for key in ("colour", "shape")]
    ids = run(tf.sparse.cross_hashed(texts, 1000).values)
    assert found.argmax(1).tolist() == ids.tolist() and found.sum(1).tolist() == [1, 1]


def test_a_cross_may_be_of_ids_and_of_crosses(run):
    price, colour = columns()
    inner = fc.crossed_column([price, colour], 100)
    outer = fc.crossed_column([inner, "shape"], 1000, hash_key=7)
    assert outer.name == "colour_X_price_bucketized_X_shape"
    assert set(fc.make_parse_example_spec([outer])) == {"price", "colour", "shape"}
    found = run(fc.input_layer(FEATURES, [fc.indicator_column(outer)]))
    ids = [tf.constant([[0], [1]], tf.int64), tf.constant([[0], [1]], tf.int64)]
    wanted = tf.sparse.cross_hashed([*ids, tf.constant(FEATURES["shape"])], 1000, 7)
    assert found.argmax(1).tolist() == run(wanted.values).tolist()


def test_a_linear_model_learns_what_only_a_cross_tells(session):
    features = {"a": [["0"], ["0"], ["1"], ["1"]], "b": [["0"], ["1"], ["0"], ["1"]]}
    made = fc.linear_model(features, [fc.crossed_column(["a", "b"], 1000)])
    loss = tf.losses.sigmoid_cross_entropy([[0], [1], [1], [0]], made)
    train = tf.train.FtrlOptimizer(1.0).minimize(loss)
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run(train)
    assert (session.run(made)[:, 0] > 0).tolist() == [False, True, True, False]


def test_a_cross_has_no_weights():
    _, colour = columns()
    column = fc.crossed_column([fc.weighted_categorical_column(colour, "w"), "shape"], 10)
    features = {**FEATURES, "w": [[1.0], [2.0]]}
    with pytest.raises(ValueError, match="does not support weight_tensor"):
        fc.linear_model(features, [column])

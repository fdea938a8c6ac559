"""Sequences of features: sequence_* columns and the input of recurrent networks that is made of them."""

import numpy as np
import pytest

import millrace as tf

fc = tf.feature_column
sequence_input_layer = tf.contrib.feature_column.sequence_input_layer


@pytest.fixture
def run(session):
    def fetch(tensors):
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(tensors)

    return fetch


def steps():
    """Two steps in the first row, none in the second, three in the third."""
    places = [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]
    return tf.SparseTensor(places, tf.constant([2, 0, 1, 1, 2], tf.int64), [3, 3])


def test_each_step_has_a_row_of_the_table_and_rows_end(run):
    ids = fc.sequence_categorical_column_with_identity("step", 3)
    rows = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    column = fc.embedding_column(ids, 2, initializer=tf.constant_initializer(rows))
    made, lengths = run(sequence_input_layer({"step": steps()}, [column]))
    assert lengths.tolist() == [2, 0, 3] and lengths.dtype == np.int64
    assert made.tolist() == [
        [[5, 6], [1, 2], [0, 0]],
        [[0, 0], [0, 0], [0, 0]],
        [[3, 4], [3, 4], [5, 6]],
    ]
    assert tf.global_variables()[0].op.name == (
        "sequence_input_layer/step_embedding/embedding_weights"
    )


def test_steps_are_counted_apart(run):
    words = fc.sequence_categorical_column_with_vocabulary_list("word", ["a", "b"])
    features = {"word": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["b", "a", "c"], [2, 2])}
    made, lengths = run(sequence_input_layer(features, [fc.indicator_column(words)]))
    assert made.tolist() == [[[0, 1], [1, 0]], [[0, 0], [0, 0]]]
    assert lengths.tolist() == [2, 1]


def test_a_step_may_have_several_categories(run):
    places = [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    features = {"id": tf.SparseTensor(places, tf.constant([0, 2, 2], tf.int64), [1, 2, 2])}
    column = fc.indicator_column(fc.sequence_categorical_column_with_identity("id", 3))
    made, lengths = run(sequence_input_layer(features, [column]))
    assert made.tolist() == [[[1, 0, 1], [0, 0, 1]]] and lengths.tolist() == [2]


def test_numbers_of_a_step_stand_together(run):
    places = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]]
    features = {"at": tf.SparseTensor(places, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 4])}
    column = fc.sequence_numeric_column("at", 2, default_value=-1.0)
    made, lengths = run(sequence_input_layer(features, [column]))
    assert made.tolist() == [[[1, 2], [3, 4]], [[5, 6], [-1, -1]]]
    assert lengths.tolist() == [2, 1]


def test_numbers_are_normalized_before_they_are_filled_up(run):
    def doubled(feature):
        return tf.SparseTensor(feature.indices, feature.values * 2, feature.dense_shape)

    column = fc.sequence_numeric_column("at", normalizer_fn=doubled, default_value=9.0)
    features = {"at": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [1.0, 2.0, 3.0], [2, 2])}
    made, _ = run(sequence_input_layer(features, [column]))
    assert made[:, :, 0].tolist() == [[2, 9], [4, 6]]


def test_columns_of_one_length_are_joined_and_others_refused(run):
    ids = fc.indicator_column(fc.sequence_categorical_column_with_identity("step", 3))
    numbers = fc.sequence_numeric_column("at")
    features = {"step": steps(), "at": tf.SparseTensor(steps().indices, tf.ones([5]), [3, 3])}
    made, lengths = run(sequence_input_layer(features, [ids, numbers]))
    assert made.shape == (3, 3, 4) and lengths.tolist() == [2, 0, 3]
    features["at"] = tf.SparseTensor(steps().indices[:4], tf.ones([4]), [3, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="x == y"):
        run(sequence_input_layer(features, [ids, numbers]))


def test_a_recurrent_network_takes_them(run):
    ids = fc.sequence_categorical_column_with_hash_bucket("step", 5, tf.int64)
    inputs, lengths = sequence_input_layer({"step": steps()}, [fc.embedding_column(ids, 4)])
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(2), inputs, sequence_length=lengths, dtype=tf.float32
    )
    found = run(outputs)
    assert not found[1].any() and not found[0, 2].any() and found[2].all()


def test_sequences_are_parsed_with_any_length(tmp_path):
    file = tmp_path / "words"
    file.write_text("a\nb\n")
    columns = [
        fc.embedding_column(
            fc.sequence_categorical_column_with_vocabulary_file("word", str(file)), 2
        ),
        fc.sequence_numeric_column("at", dtype=tf.int64),
    ]
    assert fc.make_parse_example_spec(columns) == {
        "word": tf.VarLenFeature(tf.string),
        "at": tf.VarLenFeature(tf.int64),
    }


def test_what_is_no_sequence_is_refused():
    plain = fc.categorical_column_with_identity("step", 3)
    with pytest.raises(ValueError, match="must be of type SequenceCategoricalColumn"):
        sequence_input_layer({"step": steps()}, [fc.indicator_column(plain)])
    with pytest.raises(ValueError, match="must be of type SequenceColumn"):
        sequence_input_layer({"step": [[1.0]]}, [fc.numeric_column("step")])
    with pytest.raises(ValueError, match="must be a SparseTensor. key: step"):
        sequence_input_layer({"step": [[1.0]]}, [fc.sequence_numeric_column("step")])
    with pytest.raises(ValueError, match="greater than 0"):
        fc.sequence_numeric_column("step", 0)

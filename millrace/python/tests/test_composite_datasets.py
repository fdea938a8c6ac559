"""Sparse and ragged tensors as components of datasets."""

import numpy as np
import pytest

import millrace as tf

Dataset = tf.data.Dataset


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _walk(session, dataset):
    following = dataset.make_one_shot_iterator().get_next()
    seen = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            seen.append(session.run(following))
    return seen


def test_rows_of_a_ragged_tensor_come_one_by_one_and_batches_are_ragged_again(session):
    rows = tf.ragged.constant([[1, 2], [], [3], [4, 5, 6]])
    dataset = Dataset.from_tensor_slices(rows)
    assert dataset.element_spec == tf.RaggedTensorSpec([None], tf.int32, 0)
    assert [row.tolist() for row in _walk(session, dataset)] == [[1, 2], [], [3], [4, 5, 6]]
    batched = dataset.batch(3)
    assert batched.element_spec == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert [rows.to_list() for rows in _walk(session, batched)] == [[[1, 2], [], [3]], [[4, 5, 6]]]
    assert [row.tolist() for row in _walk(session, batched.unbatch())][3] == [4, 5, 6]
    assert _walk(session, dataset.unbatch()) == [1, 2, 3, 4, 5, 6]
    twice = _walk(session, dataset.batch(2).batch(2))
    assert twice[0].to_list() == [[[1, 2], []], [[3], [4, 5, 6]]]


def test_functions_take_and_give_ragged_tensors(session):
    dataset = Dataset.from_tensors({"rows": tf.ragged.constant([["a b", "c"], ["d e f"]])})
    words = dataset.map(
        lambda element: tf.strings.split(element["rows"], result_type="RaggedTensor")
    )
    assert words.element_spec == tf.RaggedTensorSpec([2, None, None], tf.string, 2)
    assert _walk(session, words)[0].to_list() == [[[b"a", b"b"], [b"c"]], [[b"d", b"e", b"f"]]]
    counted = words.map(lambda rows: (rows.row_lengths(), tf.size(rows.flat_values)))
    assert [part.tolist() for part in _walk(session, counted)[0]] == [[2, 1], 6]
    long = words.filter(lambda rows: tf.size(rows.flat_values) > 9)
    assert _walk(session, long) == []


def test_sparse_components_are_batched_to_the_largest_shape(session):
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    dataset = Dataset.from_tensor_slices((sparse, [1, 2, 3]))
    assert dataset.output_classes == (tf.SparseTensor, tf.Tensor)
    assert dataset.output_types == (tf.int32, tf.int32)
    assert dataset.element_spec[0] == tf.SparseTensorSpec([2], tf.int32)
    first = _walk(session, dataset)[0][0]
    assert first.indices.tolist() == [[1]] and first.dense_shape.tolist() == [2]
    whole = _walk(session, dataset.batch(2))
    assert whole[0][0].indices.tolist() == [[0, 1]] and whole[0][0].dense_shape.tolist() == [2, 2]
    assert whole[1][0].indices.tolist() == [[0, 0]] and whole[1][1].tolist() == [3]
    grown = Dataset.range(3).map(lambda n: tf.SparseTensor([[n]], [n], [n + 1])).batch(3)
    assert _walk(session, grown)[0].dense_shape.tolist() == [3, 3]
    single = _walk(session, dataset.batch(2).unbatch())
    assert [each[0].values.tolist() for each in single] == [[5], [], [6]]


def test_a_state_of_a_walk_may_be_ragged(session):
    start = tf.ragged.constant([[0]], dtype=tf.int64)

    def grow(state, n):
        return tf.concat([state, tf.RaggedTensor.from_row_lengths(tf.fill([n], n), [n])], axis=0)

    made = Dataset.range(4).reduce(start, grow)
    assert session.run(made).to_list() == [[0], [], [1], [2, 2], [3, 3, 3]]


def test_a_generator_yields_values_of_sparse_and_ragged_tensors(session):
    def yields():
        yield tf.ragged.constant_value([[1], [2, 3]]), tf.SparseTensorValue(
            np.array([[1]]), np.array(["x"]), np.array([4])
        )

    signature = (tf.RaggedTensorSpec([None, None], tf.int64), tf.SparseTensorSpec([4], tf.string))
    dataset = Dataset.from_generator(yields, output_signature=signature)
    assert dataset.element_spec == signature
    rows, sparse = _walk(session, dataset)[0]
    assert rows.to_list() == [[1], [2, 3]] and sparse.values.tolist() == [b"x"]
    wrong = Dataset.from_generator(yields, output_signature=signature[::-1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not match"):
        session.run(wrong.make_one_shot_iterator().get_next())
    with pytest.raises(TypeError, match="output_signature"):
        Dataset.from_generator(yields)


def test_a_generator_may_yield_sparse_values_of_lists(session):
    def yields():
        yield tf.SparseTensorValue([[1]], [2.5], [4])

    signature = tf.SparseTensorSpec([4], tf.float32)
    (sparse,) = _walk(session, Dataset.from_generator(yields, output_signature=signature))
    assert sparse.indices.tolist() == [[1]] and sparse.values.tolist() == [2.5]


def test_iterators_are_made_for_what_specs_say(session):
    dataset = Dataset.from_tensors(
        (tf.SparseTensor([[0]], [1], [2]), tf.ragged.constant([[1], []]))
    )
    iterator = tf.data.Iterator.from_structure(
        dataset.output_types, dataset.output_shapes, output_classes=dataset.output_classes
    )
    assert iterator.element_spec == dataset.element_spec
    following = iterator.get_next()
    session.run(iterator.make_initializer(dataset))
    sparse, rows = session.run(following)
    assert sparse.values.tolist() == [1] and rows.to_list() == [[1], []]
    other = Dataset.from_tensors((tf.ragged.constant([[1]]), tf.ragged.constant([[1]])))
    with pytest.raises(TypeError, match="Expected output"):
        iterator.make_initializer(other)
    option = tf.data.experimental.get_next_as_optional(dataset.make_one_shot_iterator())
    assert tf.type_spec_from_value(option) == tf.OptionalSpec(dataset.element_spec)
    assert session.run(option.get_value())[1].to_list() == [[1], []]


def test_what_cannot_be_put_together_is_refused_when_it_is_made(session):
    rows = Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]]))
    sparse = Dataset.from_tensors(tf.SparseTensor([[0, 0]], [1], [2, 2]))
    with pytest.raises(TypeError, match="padded sparse and ragged"):
        rows.padded_batch(2, [None, None])
    with pytest.raises(TypeError, match="different types"):
        rows.concatenate(sparse)
    assert rows.concatenate(rows).element_spec == rows.element_spec
    assert [kind.element_spec for kind in (rows.window(2).element_spec,)] == [rows.element_spec]

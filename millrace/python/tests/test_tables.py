"""Hash tables as programs use them; the rules are tested beside the C++."""

import pytest

import millrace as tf


def filled(session, table):
    session.run(tf.tables_initializer())
    return table


def test_keys_have_the_values_of_the_initializer(session):
    init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], value_dtype=tf.int64)
    table = filled(session, tf.contrib.lookup.HashTable(init, -1))
    found = table.lookup(tf.constant([["b", "x"]]))
    assert found.shape.as_list() == [1, 2]
    assert session.run(found).tolist() == [[2, -1]]
    assert session.run(table.size()) == 2
    keys, values = session.run(table.export())
    assert dict(zip(keys, values)) == {b"a": 1, b"b": 2}


def test_a_table_that_was_not_filled_says_so(session):
    init = tf.lookup.KeyValueTensorInitializer(["a"], [1], value_dtype=tf.int64)
    with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
        session.run(tf.lookup.StaticHashTable(init, 0).lookup(tf.constant("a")))


def test_keys_of_another_type_are_refused_when_the_graph_is_built():
    init = tf.lookup.KeyValueTensorInitializer(["a"], [1], value_dtype=tf.int64)
    with pytest.raises(TypeError, match="Keys must be dtype string"):
        tf.lookup.StaticHashTable(init, 0).lookup(tf.constant(1))


def test_the_places_of_a_sparse_tensor_stay(session):
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["x", "y"]))
    words = tf.SparseTensor([[0, 1], [2, 0]], ["y", "none"], [3, 2])
    value = session.run(filled(session, table).lookup(words))
    assert isinstance(value, tf.SparseTensorValue)
    assert value.indices.tolist() == [[0, 1], [2, 0]]
    assert value.values.tolist() == [1, -1]
    assert value.dense_shape.tolist() == [3, 2]


def test_words_and_numbers_come_from_a_file(session, tmp_path):
    file = tmp_path / "words"
    file.write_text("apple\npear\nplum\n")
    numbers = tf.contrib.lookup.index_table_from_file(str(file), default_value=-5)
    words = tf.contrib.lookup.index_to_string_table_from_file(str(file), default_value="?")
    session.run(tf.tables_initializer())
    assert session.run(numbers.lookup(tf.constant(["plum", "fig"]))).tolist() == [2, -5]
    found = session.run(words.lookup(tf.constant([1, 7], tf.int64)))
    assert found.tolist() == [b"pear", b"?"]
    assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) != []


def test_a_file_that_is_not_there_is_named(session):
    tf.contrib.lookup.index_table_from_file("/nowhere/words")
    with pytest.raises(tf.errors.NotFoundError, match="/nowhere/words"):
        session.run(tf.tables_initializer())


def test_numbers_are_words_of_a_vector(session):
    table = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b"], default_value="none")
    session.run(tf.tables_initializer())
    found = session.run(table.lookup(tf.constant([1, 5], tf.int64)))
    assert found.tolist() == [b"b", b"none"]


def test_tables_change_as_a_program_runs(session):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.float32, 0.5)
    session.run(table.insert(tf.constant(["a", "b"]), tf.constant([1.0, 2.0])))
    session.run(table.remove(tf.constant(["a"])))
    assert session.run(table.lookup(tf.constant(["a", "b"]))).tolist() == [0.5, 2.0]


def test_values_and_keys_may_be_vectors(session):
    table = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.int64, default_value=[-1, -1], empty_key=[0, 0], deleted_key=[-1, -1]
    )
    session.run(table.insert([[1, 2]], [[10, 20]]))
    found = table.lookup(tf.constant([[1, 2], [3, 4]], tf.int64))
    assert found.shape.as_list() == [2, 2]
    assert session.run(found).tolist() == [[10, 20], [-1, -1]]


def test_sparse_tensors_are_fed_in_three_parts(session):
    sparse = tf.SparseTensor(
        tf.placeholder(tf.int64, [None, 2]),
        tf.placeholder(tf.float32, [None]),
        tf.placeholder(tf.int64, [2]),
    )
    value = tf.SparseTensorValue([[0, 0]], [3.0], [1, 1])
    assert session.run(sparse.values * 2, {sparse: value}).tolist() == [6.0]
    assert session.run(sparse.values, {sparse: tuple(value)}).tolist() == [3.0]
    with pytest.raises(TypeError, match="SparseTensorValue"):
        session.run(sparse.values, {sparse: 3.0})


def test_sparse_placeholders_are_fed_whole(session):
    value = tf.SparseTensorValue([[0, 1]], [2.5], [2, 2])
    for shape in (None, [2, 2], [None, 2]):
        sparse = tf.sparse_placeholder(tf.float32, shape)
        fetched = session.run(sparse, {sparse: value})
        assert fetched.indices.tolist() == [[0, 1]]
        assert fetched.values.tolist() == [2.5]
        assert fetched.dense_shape.tolist() == [2, 2]
    assert tf.sparse_placeholder(tf.float32, [2, 2]).shape.as_list() == [2, 2]

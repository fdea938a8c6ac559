"""tf.sets and tf.edit_distance."""

import numpy as np
import pytest

import millrace as tf

A, B = [[3, 1, 3], [2, 5, 2]], [[3, 4], [6, 6]]
OPERATIONS = {
    tf.sets.intersection: lambda a, b: a & b,
    tf.sets.union: lambda a, b: a | b,
    tf.sets.difference: lambda a, b: a - b,
}


def sparse(rows, dtype):
    places = [[row, at] for row, of in enumerate(rows) for at in range(len(of))]
    return tf.SparseTensor(
        places, np.array([each for of in rows for each in of], dtype), [len(rows), 4]
    )


def rows_of(value):
    rows = [[] for _ in range(value.dense_shape[0])]
    for (row, at), each in zip(value.indices, value.values):
        assert at == len(rows[row])
        rows[row].append(each)
    assert value.dense_shape[1] == max(map(len, rows))
    return rows


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_rows_are_sets_whatever_they_come_as(session, operation, dtype):
    expected = [sorted(OPERATIONS[operation](set(a), set(b))) for a, b in zip(A, B)]
    for a in (np.array(A, dtype), sparse(A, dtype)):
        for b in (np.array(B, dtype), sparse(B, dtype)):
            assert rows_of(session.run(operation(a, b))) == expected


def test_texts_are_sets_too(session):
    made = session.run(tf.sets.set_difference([["b", "a"]], [["b", "c"]], aminusb=False))
    assert made.values.tolist() == [b"c"]


def test_the_size_of_a_set_counts_what_differs(session):
    assert session.run(tf.sets.size(sparse(A, "int32"))).tolist() == [2, 2]
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        tf.sets.size(A)


def test_sets_have_types():
    with pytest.raises(TypeError, match="'a' has invalid dtype float32; sets are of int8"):
        tf.sets.union([[1.0]], [[1.0]])
    with pytest.raises(TypeError, match="Types don't match, int32 vs int64"):
        tf.sets.union([[1]], np.int64([[1]]))


def test_changes_from_one_sequence_to_another(session):
    said = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2])
    meant = tf.SparseTensor([[0, 0], [1, 0]], ["a", "x"], [3, 1])
    assert session.run(tf.edit_distance(said, meant)).tolist() == [1, 1, np.inf]
    assert session.run(tf.edit_distance(said, meant, normalize=False)).tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="Truth must be a SparseTensor"):
        tf.edit_distance(said, [["a"]])

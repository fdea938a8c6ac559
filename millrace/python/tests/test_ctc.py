"""tf.nn.ctc_*: values are compared with counting in C++, and with TensorFlow in tests/interop."""

import numpy as np
import pytest

import millrace as tf

LOGITS = np.array([[[1, 2, 0]], [[1, 2, 0]], [[3, 2, 0]]], np.float32)
LABELS = tf.SparseTensorValue(np.int64([[0, 0], [0, 1]]), np.int32([1, 0]), np.int64([1, 2]))


def chance_of_spelling():
    """Of 1, then 0, in three steps whose last class is the blank."""
    p = np.exp(LOGITS[:, 0]) / np.exp(LOGITS[:, 0]).sum(-1, keepdims=True)
    ways = ([1, 0, 2], [1, 2, 0], [2, 1, 0], [1, 1, 0], [1, 0, 0])
    return sum(np.prod([p[step, label] for step, label in enumerate(way)]) for way in ways)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("time_major", [True, False])
def test_the_loss_sums_all_ways_to_spell_the_labels(session, dtype, time_major):
    logits = tf.constant(LOGITS if time_major else LOGITS.transpose(1, 0, 2), dtype)
    labels = tf.SparseTensor.from_value(LABELS)
    loss = tf.nn.ctc_loss(labels, logits, [3], time_major=time_major)
    assert loss.dtype == dtype
    found = session.run(loss)
    assert found == pytest.approx([-np.log(chance_of_spelling())], rel=1e-3)


def test_a_network_learns_to_spell(session):
    logits = tf.Variable(np.zeros([5, 2, 4], np.float32))
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 0], np.int64([2, 2]))
    loss = tf.reduce_mean(tf.nn.ctc_loss(labels, logits, [5, 4]))
    train = tf.train.GradientDescentOptimizer(2.0).minimize(loss)
    session.run(tf.global_variables_initializer())
    before = session.run(loss)
    for _ in range(30):
        session.run(train)
    assert session.run(loss) < before / 5
    decoded, _ = tf.nn.ctc_greedy_decoder(logits, [5, 4])
    assert session.run(tf.sparse.to_dense(decoded[0], -1)).tolist() == [[1, 2], [0, -1]]


def test_nobody_computed_the_second_derivative():
    logits = tf.constant(LOGITS)
    loss = tf.nn.ctc_loss(tf.SparseTensor.from_value(LABELS), logits, [3])
    first = tf.gradients(loss, logits)[0]
    with pytest.raises(LookupError, match="no way to take the second derivative of ctc_loss"):
        tf.gradients(first, logits)


def test_labels_are_sparse_and_inputs_are_needed():
    with pytest.raises(TypeError, match="Expected argument `labels` to be a SparseTensor"):
        tf.nn.ctc_loss([[1]], LOGITS, [3])
    with pytest.raises(ValueError, match="needs inputs"):
        tf.nn.ctc_loss(tf.SparseTensor.from_value(LABELS))


def test_decoders_merge_what_lasts(session):
    for merges, expected in ((True, [[1, 0]]), (False, [[1, 1, 0]])):
        (decoded,), chance = tf.nn.ctc_greedy_decoder(LOGITS, [3], merge_repeated=merges)
        assert session.run(tf.sparse.to_dense(decoded)).tolist() == expected
        assert session.run(chance).tolist() == [[-7]]
    paths, chances = tf.nn.ctc_beam_search_decoder(LOGITS, [3], beam_width=20, top_paths=2)
    assert len(paths) == 2
    found = session.run([tf.sparse.to_dense(paths[0]), chances])
    assert found[0].tolist() == [[1, 0]]
    assert np.exp(found[1][0, 0]) == pytest.approx(chance_of_spelling(), rel=1e-5)


def test_keras_takes_matrices_of_labels(session):
    backend = tf.keras.backend
    labels = np.array([[1, 0, 9], [2, 9, 9]])
    sparse = session.run(backend.ctc_label_dense_to_sparse(labels, [2, 1]))
    assert sparse.indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert sparse.values.tolist() == [1, 0, 2] and sparse.dense_shape.tolist() == [2, 3]
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
    cost = backend.ctc_batch_cost(labels[:1], p.transpose(1, 0, 2), [[3]], [[2]])
    assert session.run(cost) == pytest.approx(-np.log(chance_of_spelling()), rel=1e-4)
    for greedy in (True, False):
        (path,), _ = backend.ctc_decode(p.transpose(1, 0, 2), [3], greedy=greedy)
        assert session.run(path).tolist() == [[1, 0]]

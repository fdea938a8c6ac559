"""Rarer parts of tf.nn: moments with weights, layers by rank, losses; beside TensorFlow in tests/interop."""

import numpy as np
import pytest

import millrace as tf

X = np.random.RandomState(3).normal(size=(4, 3, 2)).astype(np.float32)


def test_mean_and_variance_from_sums(check, session):
    sums = tf.nn.sufficient_statistics(X, [0, 1])
    assert sums[3] is None and session.run(sums[0]) == 12.0
    mean, variance = tf.nn.normalize_moments(*sums)
    check(mean, X.mean((0, 1)), rtol=1e-5)
    check(variance, X.var((0, 1)), rtol=1e-5)
    fed = tf.placeholder(tf.float32, [None, None, 2])
    shifted = tf.nn.sufficient_statistics(fed, [1], shift=5.0, keepdims=True)
    mean, variance = tf.nn.normalize_moments(*shifted)
    check(mean, X.mean(1, keepdims=True), {fed: X}, rtol=1e-4)
    check(variance, X.var(1, keepdims=True), {fed: X}, rtol=1e-3)


def test_moments_count_elements_as_often_as_weights_say(check):
    mean, variance = tf.nn.weighted_moments(X, [0], [[[1.0]], [[2.0]], [[0.0]], [[0.0]]])
    check(mean, X[[0, 1, 1]].mean(0), rtol=1e-5)
    check(variance, X[[0, 1, 1]].var(0), rtol=1e-5)
    narrow, _ = tf.nn.weighted_moments(X.astype(np.float16), [0], 1.0, keep_dims=True)
    assert narrow.dtype == tf.float16 and narrow.shape.as_list() == [1, 3, 2]


def test_windows_move_over_what_the_input_is(check):
    check(tf.nn.max_pool_v2(X, 3, 1, "VALID"), X.max(1, keepdims=True))
    images = X.reshape(2, 2, 3, 2)
    check(tf.nn.avg_pool_v2(images, [2, 3], 1, "VALID"), images.mean((1, 2), keepdims=True))
    volumes = X.reshape(1, 2, 2, 3, 2)
    check(tf.nn.max_pool_v2(volumes, [2, 2, 3], 1, "VALID"), volumes.max((1, 2, 3), keepdims=True))
    with pytest.raises(ValueError, match="rank 3, 4 or 5"):
        tf.nn.avg_pool_v2(X[0], 2, 1, "SAME")
    made = tf.nn.conv_transpose(X, np.ones([1, 5, 2], np.float32), [4, 3, 5], 1)
    check(made, np.repeat(X.sum(-1, keepdims=True), 5, -1), rtol=1e-5)


def test_losses_of_counts_and_their_mean(check):
    counts, logs = np.array([0.0, 4.0], np.float32), np.array([0.5, 1.0], np.float32)
    check(tf.nn.log_poisson_loss(counts, logs), np.exp(logs) - counts * logs)
    rest = [0, 4 * np.log(4) - 4 + 0.5 * np.log(8 * np.pi)]
    expected = (np.exp(logs) - counts * logs + rest).astype(np.float32)
    check(tf.nn.log_poisson_loss(counts, logs, compute_full_loss=True), expected)
    with pytest.raises(ValueError, match="same shape"):
        tf.nn.log_poisson_loss(counts, X)
    check(tf.nn.compute_average_loss([1.0, 3.0]), np.float32(2.0))
    check(tf.nn.compute_average_loss([1.0, 3.0], [2.0, 1.0], 10), np.float32(0.5))
    check(tf.nn.scale_regularization_loss([1.0, 3.0]), np.float32(4.0))


def test_any_class_may_stand_for_no_label(session):
    logits = np.random.RandomState(1).normal(size=(4, 1, 3)).astype(np.float32)
    sparse = tf.SparseTensor([[0, 0], [0, 1]], tf.constant([0, 1]), [1, 2])
    last = tf.nn.ctc_loss(sparse, logits, [4])
    moved = tf.SparseTensor(sparse.indices, tf.constant([1, 2]), [1, 2])
    first = tf.nn.ctc_loss_v2(moved, logits[..., [2, 0, 1]], None, [4], blank_index=0)
    dense = tf.nn.ctc_loss_v2([[1, 2, 0]], logits[..., [2, 0, 1]], [2], [4])
    values = session.run([last, first, dense])
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=1e-6)
    with pytest.raises(ValueError, match="blank_index must be given"):
        tf.nn.ctc_loss_v2(sparse, logits, None, [4])
    with pytest.raises(ValueError, match="label_length"):
        tf.nn.ctc_loss_v2([[0]], logits, None, [4])


def test_labels_that_follow_themselves_are_one(session):
    made, counts = tf.nn.collapse_repeated([[1, 1, 2, 2], [5, 5, 5, 7]], [4, 3])
    assert session.run(made).tolist() == [[1, 2], [5, 0]]
    assert session.run(counts).tolist() == [2, 1]


def test_other_names_of_layers():
    assert tf.nn.depthwise_conv2d_backprop_input is tf.nn.depthwise_conv2d_native_backprop_input
    assert tf.nn.depth_to_space is tf.depth_to_space and tf.nn.space_to_batch is tf.space_to_batch
    assert tf.nn.conv3d_backprop_filter is tf.nn.conv3d_backprop_filter_v2


def test_a_state_is_kept_between_runs_of_a_net(session):
    class Saver:
        """Keeps states in variables, by name."""

        def __init__(self):
            self.held = {name: tf.Variable(tf.zeros([1, 2])) for name in "ch"}

        def state(self, name):
            return self.held[name].read_value()

        def save_state(self, name, value):
            return self.held[name].assign(value)

    inputs = [tf.constant([[0.5]]), tf.constant([[-0.25]])]
    saver = Saver()
    cell = tf.nn.rnn_cell.LSTMCell(2)
    outputs, state = tf.nn.static_state_saving_rnn(cell, inputs, saver, ("c", "h"))
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        whole, _ = tf.nn.static_rnn(cell, inputs * 2, dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    expected = session.run(whole)
    first, second = session.run(outputs[-1]), session.run(outputs[-1])
    np.testing.assert_allclose([first, second], [expected[1], expected[3]], rtol=1e-5)
    with pytest.raises(ValueError, match="same type as cell.state_size"):
        tf.nn.static_state_saving_rnn(cell, inputs, saver, "c")

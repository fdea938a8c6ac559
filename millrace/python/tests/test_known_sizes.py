"""Sizes that programs put together from the shapes of tensors are known before anything runs, as far as they are."""

import numpy as np
import pytest

import millrace as tf


@pytest.fixture
def x(session):
    return tf.placeholder(tf.float32, [None, 16, 32], name="x")


def batch_of(x):
    return tf.shape(x)[0]


def known(tensor):
    return tensor.shape.as_list()


def test_a_batch_of_unknown_size_keeps_its_other_axes(session, x):
    n = batch_of(x)
    reshaped = tf.reshape(x, [n, 4, 128])
    assert known(reshaped) == [None, 4, 128]
    assert known(tf.reshape(x, [n, -1])) == [None, None]
    assert known(tf.zeros([n, 7])) == [None, 7]
    assert known(tf.fill([n, 7], 1.0)) == [None, 7]
    assert known(tf.random_uniform([n, 3])) == [None, 3]
    assert known(tf.tile(tf.zeros([1, 5]), [n, 2])) == [None, 10]
    assert known(tf.broadcast_to(tf.zeros([5]), [n, 5])) == [None, 5]
    assert known(tf.slice(x, [0, 0, 0], [n, 4, 8])) == [None, 4, 8]
    value = np.arange(2 * 16 * 32, dtype=np.float32).reshape(2, 16, 32)
    assert session.run(reshaped, {x: value}).shape == (2, 4, 128)


def test_a_layer_takes_what_was_put_together(x):
    joined = tf.reshape(x, tf.concat([tf.shape(x)[:1], [512]], axis=0))
    assert known(joined) == [None, 512]
    assert known(tf.layers.dense(joined, 10)) == [None, 10]
    assert known(tf.reshape(x, tf.stack([batch_of(x), 2, 256]))) == [None, 2, 256]


def test_sizes_are_worked_out(x):
    length, width = tf.shape(x)[1], tf.shape(x)[2]
    assert known(tf.reshape(x, [-1, length * width])) == [None, 512]
    assert known(tf.zeros([length // 5, length - 4, length + width])) == [3, 12, 48]
    assert known(tf.zeros([tf.maximum(length, width), tf.minimum(length, width)])) == [32, 16]
    assert known(tf.zeros([tf.reduce_prod(tf.shape(x)[1:])])) == [512]
    assert known(tf.zeros(tf.cast(tf.cast(tf.shape(x), tf.int64), tf.int32))) == [None, 16, 32]
    assert known(tf.zeros(tf.gather(tf.shape(x), [2, 1]))) == [32, 16]
    assert known(tf.zeros(tf.expand_dims(width, 0))) == [32]
    assert known(tf.zeros(tf.shape(x)[::-1])) == [32, 16, None]
    assert known(tf.range(length)) == [16]
    assert known(tf.one_hot([1, 2], width)) == [2, 32]


def test_one_missing_size_is_what_is_left(session):
    whole = tf.zeros([6, 4])
    n = tf.placeholder(tf.int32, [])
    assert known(tf.reshape(whole, [n, 8])) == [3, 8]
    assert known(tf.reshape(whole, [n, -1])) == [None, None]
    assert known(tf.reshape(whole, [n, 7])) == [None, 7]


def test_what_is_not_known_stays_unknown(session, x):
    assert tf.zeros(tf.placeholder(tf.int32)).shape.ndims is None
    assert known(tf.zeros(tf.placeholder(tf.int32, [2]))) == [None, None]
    index = tf.placeholder(tf.int32, [])
    assert known(tf.zeros([tf.shape(x)[index]])) == [None]
    big = tf.constant(2**30, tf.int32)
    assert known(tf.zeros([big * 8])) == [None]
    dims = tf.unstack(tf.shape(x))
    for _ in range(200):  # a chain has an end
        dims = [dims[0], dims[1] + dims[2], dims[2] + dims[1]]
    assert known(tf.zeros([1, dims[1]])) == [1, None]


def test_a_size_that_can_not_be_is_refused_when_it_is_made(x):
    with pytest.raises(ValueError, match="-2"):
        tf.zeros([batch_of(x), -2])


def test_sizes_are_known_behind_control_inputs_too(x):
    with tf.control_dependencies([tf.no_op()]):
        assert known(tf.zeros([batch_of(x), tf.shape(x)[1]])) == [None, 16]
        assert known(tf.reshape(x, [tf.shape(x)[0], tf.size(tf.zeros([4, 128]))])) == [None, 512]

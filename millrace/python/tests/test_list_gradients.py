"""Gradients flow through lists of tensors and through optionals, as through TensorFlow's."""

import numpy as np
import pytest

import millrace as tf

raw = tf.raw_ops
X = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
ROW = [2]


def rows(x):
    return raw.TensorListFromTensor(tensor=x, element_shape=ROW)


def stacked(of):
    return raw.TensorListStack(input_handle=of, element_shape=ROW, element_dtype=tf.float32)


def got(of, index):
    return raw.TensorListGetItem(
        input_handle=of, index=index, element_shape=ROW, element_dtype=tf.float32
    )


def pushed(x):
    empty = raw.EmptyTensorList(element_shape=ROW, max_num_elements=-1, element_dtype=tf.float32)
    one = raw.TensorListPushBack(input_handle=empty, tensor=x[0])
    two = raw.TensorListPushBack(input_handle=one, tensor=x[0] * x[1])
    left, last = raw.TensorListPopBack(
        input_handle=two, element_shape=ROW, element_dtype=tf.float32
    )
    return tf.reduce_sum(last * last) + tf.reduce_sum(stacked(left))


def set_and_got(x):
    changed = raw.TensorListSetItem(input_handle=rows(x), index=1, item=x[0] * 3)
    return tf.reduce_sum(got(changed, 0) * got(changed, 1)) + tf.reduce_sum(got(changed, 2))


def resized(x):
    longer = raw.TensorListResize(input_handle=rows(x), size=5)
    return tf.reduce_sum(got(longer, 2) ** 2)


def gathered(x):
    made = raw.TensorListGather(
        input_handle=rows(x), indices=[2, 0], element_shape=ROW, element_dtype=tf.float32
    )
    return tf.reduce_sum(made * [[1.0, 2.0], [3.0, 4.0]])


def scattered(x):
    places = raw.TensorListScatterV2(tensor=x, indices=[3, 0, 1], element_shape=ROW, num_elements=4)
    places = raw.TensorListScatterIntoExistingList(
        input_handle=places, tensor=x[:1] * 5, indices=[1]
    )
    return tf.reduce_sum(stacked(raw.TensorListResize(input_handle=places, size=2)) ** 2)


def joined(x):
    parts = raw.TensorListSplit(
        tensor=x, element_shape=[-1, 2], lengths=tf.constant([1, 2], tf.int64)
    )
    made, _ = raw.TensorListConcatV2(
        input_handle=parts,
        element_shape=[-1, 2],
        leading_dims=tf.constant([], tf.int64),
        element_dtype=tf.float32,
    )
    return tf.reduce_sum(made**3)


def optional(x):
    held = raw.OptionalFromValue(components=[x, x[0]])
    whole, row = raw.OptionalGetValue(
        optional=held, output_types=[tf.float32, tf.float32], output_shapes=[[3, 2], [2]]
    )
    return tf.reduce_sum(whole * row)


@pytest.mark.parametrize(
    "function", [pushed, set_and_got, resized, gathered, scattered, joined, optional]
)
def test_the_gradient_is_that_of_finite_differences(function):
    x = tf.placeholder(tf.float32, [3, 2])
    y = function(x)
    (gradient,) = tf.gradients(y, [x])
    with tf.Session() as session:
        said = session.run(gradient, {x: X})
        for place in np.ndindex(*X.shape):
            step = np.zeros_like(X)
            step[place] = 0.125
            above, below = session.run(y, {x: X + step}), session.run(y, {x: X - step})
            assert said[place] == pytest.approx((above - below) / 0.25, rel=2e-2, abs=1e-2), place


def test_what_only_tells_of_a_list_has_no_gradient():
    x = tf.constant(X)
    length = tf.cast(raw.TensorListLength(input_handle=rows(x)), tf.float32)
    assert tf.gradients(length, [x]) == [None]

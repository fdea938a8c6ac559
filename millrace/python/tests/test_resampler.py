"""tf.contrib.resampler: images read between pixels, beside the same in NumPy."""

import numpy as np
import pytest

import millrace as tf

resampler = tf.contrib.resampler.resampler


def resampled(data, warp):
    """Each place by itself, in images with zeros around."""
    made = np.zeros(warp.shape[:-1] + data.shape[-1:])
    for place in np.ndindex(warp.shape[:-1]):
        x, y = warp[place]
        left, top = int(np.floor(x)), int(np.floor(y))
        for column, row in [(left, top), (left + 1, top), (left, top + 1), (left + 1, top + 1)]:
            if 0 <= column < data.shape[2] and 0 <= row < data.shape[1]:
                share = (1 - abs(x - column)) * (1 - abs(y - row))
                made[place] += share * data[place[0], row, column]
    return made


def images(kind="float64"):
    return np.random.RandomState(1).uniform(-1, 1, (2, 4, 5, 3)).astype(kind)


def places(*shape, kind="float64"):
    return np.random.RandomState(2).uniform(-2, 6, (2, *shape, 2)).astype(kind)


@pytest.mark.parametrize("kind, rtol", [("float16", 2e-2), ("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("shape", [(), (7,), (6, 3)])
def test_places_have_what_is_between_the_pixels_around(session, kind, rtol, shape):
    data, warp = images(kind), places(*shape, kind=kind)
    made = resampler(data, warp)
    assert made.dtype == kind and made.shape.as_list() == [2, *shape, 3]
    expected = resampled(data.astype("float64"), warp.astype("float64"))
    np.testing.assert_allclose(session.run(made), expected, rtol=rtol, atol=rtol)


def test_places_of_pixels_have_them_and_far_ones_nothing(session):
    data = images()[:1]
    warp = [
        [[2.0, 1.0], [4.0, 3.0], [-1.0, 0.0], [5.0, 0.0], [0.0, 1e30], [np.nan, 0.0], [-np.inf, 1]]
    ]
    found = session.run(resampler(data, np.array(warp)))
    np.testing.assert_array_equal(found[0, :2], [data[0, 1, 2], data[0, 3, 4]])
    np.testing.assert_array_equal(found[0, 2:], np.zeros([5, 3]))


def test_shapes_may_be_known_later(session):
    data, warp = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, None, 2])
    made = resampler(data, warp)
    feeds = {data: images("float32"), warp: places(4, kind="float32")}
    np.testing.assert_allclose(
        session.run(made, feeds), resampled(images(), places(4, kind="float32")), atol=1e-5
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Batch size of data and warp"):
        session.run(made, {data: images("float32")[:1], warp: places(4, kind="float32")})


def test_gradients_go_to_pixels_and_to_places(session):
    data, warp = images(), places(9)
    fed, moved = tf.constant(data), tf.constant(warp)
    asked = np.random.RandomState(3).uniform(-1, 1, (2, 9, 3))
    to_data, to_warp = session.run(tf.gradients(resampler(fed, moved), [fed, moved], asked))
    assert to_data.shape == data.shape and to_warp.shape == warp.shape

    def slope(change, what):
        both = [resampled(*what(sign * 1e-6 * change)) for sign in (1, -1)]
        return ((both[0] - both[1]) * asked).sum() / 2e-6

    for seed in range(5):
        change = np.random.RandomState(seed).uniform(-1, 1, data.shape)
        np.testing.assert_allclose(
            (to_data * change).sum(), slope(change, lambda by: (data + by, warp)), rtol=1e-6
        )
        change = np.random.RandomState(seed).uniform(-1, 1, warp.shape)
        np.testing.assert_allclose(
            (to_warp * change).sum(), slope(change, lambda by: (data, warp + by)), rtol=1e-6
        )
    far = tf.constant([[[np.inf, 0.0], [0.0, np.nan], [-3.0, 1.0]]], tf.float64)
    first = tf.constant(data[:1])
    for grad in session.run(tf.gradients(resampler(first, far), [first, far])):
        assert not grad.any()


def test_what_is_no_image_or_no_place_is_refused():
    with pytest.raises(tf.errors.UnimplementedError, match="The input data shape must be"):
        resampler(np.zeros([2, 4, 5]), places(3))
    with pytest.raises(tf.errors.UnimplementedError, match="last entry should be 2"):
        resampler(images(), np.zeros([2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be the same"):
        resampler(images()[:1], places(3))
    with pytest.raises(TypeError, match="one floating type, got float64 and float32"):
        resampler(images(), places(3, kind="float32"))
    with pytest.raises(TypeError, match="one floating type"):
        resampler(np.zeros([1, 2, 2, 1], np.int32), np.zeros([1, 2], np.int32))

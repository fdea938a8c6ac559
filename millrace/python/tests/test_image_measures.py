"""How alike images are, their edges and colours, sizes with bars; beside TensorFlow they are in tests/interop."""

import numpy as np
import pytest

import millrace as tf

RANDOM = np.random.RandomState(5)
IMAGE = RANDOM.uniform(size=(2, 12, 16, 3)).astype(np.float32)
NEAR = np.clip(IMAGE + RANDOM.normal(scale=0.05, size=IMAGE.shape), 0, 1).astype(np.float32)


def test_noise_is_told_in_decibels(check, session):
    error = np.square(IMAGE - NEAR).mean((1, 2, 3))
    check(tf.image.psnr(IMAGE, NEAR, 1.0), (-10 * np.log10(error)).astype(np.float32), rtol=1e-4)
    whole = np.zeros([4, 4, 1], np.uint8)
    check(tf.image.psnr(whole, whole + 255, 255), np.float32(0.0))
    assert session.run(tf.image.psnr(whole, whole, 255)) == np.inf
    with pytest.raises(ValueError, match="not compatible"):
        tf.image.psnr(IMAGE, IMAGE[:, 1:], 1.0)
    fed = tf.placeholder(tf.float32, [None, None, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="one shape"):
        session.run(tf.image.psnr(fed, IMAGE[0], 1.0), {fed: IMAGE[0, 1:]})


def test_an_image_is_most_like_itself(session):
    for measure in (
        lambda a, b: tf.image.ssim(a, b, 1.0),
        lambda a, b: tf.image.ssim_multiscale(a, b, 1.0, (0.5, 0.5), filter_size=5),
    ):
        same, near, far = session.run([measure(IMAGE, each) for each in (IMAGE, NEAR, IMAGE[::-1])])
        np.testing.assert_allclose(same, [1.0, 1.0], rtol=1e-5)
        assert (near < same).all() and (far < near).all() and near.shape == (2,)


def test_an_image_must_be_as_large_as_what_is_looked_at(session):
    with pytest.raises(ValueError, match="smaller than 13 pixels"):
        tf.image.ssim(IMAGE, NEAR, 1.0, filter_size=13)
    with pytest.raises(ValueError, match="smaller than 11 pixels"):
        tf.image.ssim_multiscale(IMAGE, NEAR, 1.0)
    fed = tf.placeholder(tf.float32, [None, None, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least 11 rows"):
        session.run(tf.image.ssim(fed, fed, 1.0), {fed: IMAGE[0, :5]})


def test_differences_between_neighbours(check):
    down, across = tf.image.image_gradients(IMAGE)
    check(down, np.pad(np.diff(IMAGE, axis=1), [(0, 0), (0, 1), (0, 0), (0, 0)]))
    check(across, np.pad(np.diff(IMAGE, axis=2), [(0, 0), (0, 0), (0, 1), (0, 0)]))
    total = np.abs(np.diff(IMAGE, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(IMAGE, axis=2)).sum(
        (1, 2, 3)
    )
    check(tf.image.total_variation(IMAGE), total, rtol=1e-5)
    with pytest.raises(ValueError, match="4D"):
        tf.image.image_gradients(IMAGE[0])
    with pytest.raises(ValueError, match="3 or 4"):
        tf.image.total_variation(IMAGE[0, 0])


def test_edges_are_steep_where_brightness_changes(session):
    step = np.zeros([1, 5, 6, 2], np.float32)
    step[:, :, 3:, 1] = 1.0
    made = tf.image.sobel_edges(step)
    assert made.shape.as_list() == [1, 5, 6, 2, 2]
    values = session.run(made)
    assert not values[..., 0, :].any() and not values[..., 1, 0].any()
    assert values[0, :, :, 1, 1].tolist() == [[0, 0, 4, 4, 0, 0]] * 5


@pytest.mark.parametrize("space", ["yiq", "yuv"])
def test_colours_come_back(session, space):
    there, back = (getattr(tf.image, name) for name in (f"rgb_to_{space}", f"{space}_to_rgb"))
    np.testing.assert_allclose(session.run(back(there(IMAGE))), IMAGE, rtol=1e-4, atol=1e-4)
    brightness = session.run(there(IMAGE.astype(np.float64)))[..., 0]
    np.testing.assert_allclose(brightness, IMAGE @ [0.299, 0.587, 0.114], rtol=1e-6)


def test_gamma_curves_brightness(check):
    check(tf.image.adjust_gamma(IMAGE, 2.0, 0.5), 0.5 * np.square(IMAGE), rtol=1e-5)
    whole = np.array([[[0], [64], [255]]], np.uint8)
    check(tf.image.adjust_gamma(whole, gamma=0.5), np.array([[[0], [128], [255]]], np.uint8))
    with pytest.raises(ValueError, match="non-negative"):
        tf.image.adjust_gamma(IMAGE, -1)


def test_a_negative_gamma_that_a_step_tells_fails_it(session):
    gamma = tf.placeholder(tf.float32, [])
    made = tf.image.adjust_gamma(IMAGE, gamma)
    session.run(made, {gamma: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        session.run(made, {gamma: -1.0})


def test_jpegs_of_low_quality_lose_more(session):
    made = [tf.image.adjust_jpeg_quality(IMAGE[0], quality) for quality in (95, tf.constant(5))]
    fine, coarse = session.run(made)
    assert made[0].dtype == tf.float32 and fine.shape == IMAGE[0].shape
    assert np.abs(fine - IMAGE[0]).mean() < np.abs(coarse - IMAGE[0]).mean()
    with pytest.raises(NotImplementedError, match="while the graph is built"):
        tf.image.adjust_jpeg_quality(IMAGE[0], tf.placeholder(tf.int32, []))


def test_an_image_of_other_proportions_gets_bars(session, check):
    white = np.ones([10, 20, 3], np.float32)
    made = tf.image.resize_image_with_pad(white, 8, 8)
    assert made.shape.as_list() == [8, 8, 3]
    expected = np.zeros([8, 8, 3], np.float32)
    expected[2:6] = 1.0
    check(made, expected)
    fed = tf.placeholder(tf.float32, [None, None, None, 3])
    check(tf.image.resize_image_with_pad(fed, 8, 8), expected[None], {fed: white[None]})


def test_other_names_of_images(check, session):
    check(tf.image.transpose(IMAGE), IMAGE.transpose(0, 2, 1, 3))
    assert tf.image.random_crop is tf.random_crop
    patches = tf.image.extract_patches(IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    check(patches[:, 0, 0], IMAGE[:, :2, :2].reshape(2, 12))


def test_boxes_that_are_left_may_be_filled_up(session):
    boxes = tf.constant([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], tf.float32)
    found, count = tf.image.non_max_suppression_padded(
        boxes, [0.9, 0.8, 0.7], 4, 0.5, pad_to_max_output_size=True
    )
    assert found.shape.as_list() == [4]
    assert session.run([found, count])[0].tolist() == [0, 2, 0, 0] and session.run(count) == 2

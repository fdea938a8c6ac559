"""tf.contrib.image: images turned, moved and bent, beside the same by loops of NumPy."""

import numpy as np
import pytest

import millrace as tf

_IMAGES = np.random.RandomState(3).uniform(size=(2, 5, 6, 3)).astype(np.float32)
_image = tf.contrib.image


def _run(*fetches):
    with tf.Session() as session:
        values = session.run(fetches)
    return values[0] if len(values) == 1 else values


def _moved(image, right, down):
    """An image by whole pixels."""
    made = np.zeros_like(image)
    height, width = image.shape[:2]
    made[down:, right:] = image[: height - down, : width - right]
    return made


def test_images_are_moved_right_and_down():
    made = _run(_image.translate(_IMAGES, [[1, 0], [2, 3]]))
    np.testing.assert_array_equal(made, [_moved(_IMAGES[0], 1, 0), _moved(_IMAGES[1], 2, 3)])


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_an_image_comes_back_with_the_rank_that_it_had(rank):
    image = {2: _IMAGES[0, :, :, 0], 3: _IMAGES[0], 4: _IMAGES}[rank]
    made = _run(_image.translate(image, [0, 1]))
    assert made.shape == image.shape
    if rank == 3:
        np.testing.assert_array_equal(made, _moved(image, 0, 1))


def test_images_are_turned_against_the_clock_around_their_middle():
    square = _IMAGES[:, :, :5]
    made = _run(_image.rotate(square, [np.pi / 2, np.pi]))
    np.testing.assert_array_equal(made[0], np.rot90(square[0]))
    np.testing.assert_array_equal(made[1], np.rot90(square[1], 2))


def test_pixels_between_pixels_are_in_proportion():
    made = _run(_image.translate(_IMAGES, [0.25, 0.0], interpolation="BILINEAR"))
    expected = 0.75 * _IMAGES[:, :, 1:] + 0.25 * _IMAGES[:, :, :-1]
    np.testing.assert_allclose(made[:, :, 1:], expected, rtol=1e-5)


def test_one_transform_after_the_other_is_one():
    first = _image.angles_to_projective_transforms([0.3], 5.0, 6.0)
    second = _image.translations_to_projective_transforms([1.0, 2.0])
    both = _run(_image.compose_transforms(first, second))
    matrices = [_run(_image.flat_transforms_to_matrices(each))[0] for each in (first, second)]
    product = matrices[0] @ matrices[1]
    np.testing.assert_allclose(both[0], (product / product[2, 2]).ravel()[:8], rtol=1e-5, atol=1e-6)
    back = _run(_image.matrices_to_flat_transforms(2.0 * matrices[0]))
    np.testing.assert_allclose(back, _run(first), rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_move_is_the_move_back():
    x = tf.constant(_IMAGES)
    weights = np.random.RandomState(4).uniform(size=_IMAGES.shape).astype(np.float32)
    back = tf.gradients(tf.reduce_sum(_image.translate(x, [1, 2]) * weights), x)[0]
    expected = np.zeros_like(weights)
    expected[:, :3, :5] = weights[:, 2:, 1:]
    np.testing.assert_allclose(_run(back), expected, rtol=1e-6)


def test_what_can_not_be_transformed_is_refused():
    with pytest.raises(TypeError, match="Invalid dtype"):
        _image.rotate(np.zeros((2, 2), np.complex64), 1.0)
    with pytest.raises(TypeError, match="rank between 2 and 4"):
        _image.rotate(np.zeros(4, np.float32), 1.0)
    with pytest.raises(TypeError, match="statically known"):
        _image.rotate(tf.placeholder(tf.float32), 1.0)
    with pytest.raises(TypeError, match="Angles should have rank 0 or 1"):
        _image.rotate(_IMAGES, [[1.0]])
    with pytest.raises(TypeError, match="Transforms should have rank 1 or 2"):
        _image.transform(_IMAGES, np.zeros((1, 1, 8)))
    with pytest.raises(ValueError, match="2 elements"):
        _image.transform(_IMAGES, np.zeros(8), output_shape=[1, 2, 3])


def _bent(image, flow):
    """By loops: pixel (y, x) from (y, x) - flow."""
    height, width = image.shape[:2]
    made = np.empty_like(image)
    for y in range(height):
        for x in range(width):
            at = np.array([y, x]) - flow[y, x]
            low = np.clip(np.floor(at), 0, [height - 2, width - 2]).astype(int)
            a, b = np.clip(at - low, 0, 1)
            corner = image[low[0] : low[0] + 2, low[1] : low[1] + 2]
            top, bottom = (1 - b) * corner[:, 0] + b * corner[:, 1]
            made[y, x] = (1 - a) * top + a * bottom
    return made


def test_images_are_bent_by_a_flow():
    flow = np.random.RandomState(5).uniform(-3, 3, size=(2, 5, 6, 2)).astype(np.float32)
    made = _run(_image.dense_image_warp(_IMAGES, flow))
    expected = [_bent(image, each) for image, each in zip(_IMAGES, flow)]
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_spline_passes_through_its_points_and_is_level_where_they_are(order):
    points = np.random.RandomState(6).uniform(size=(1, 8, 2))
    values = np.stack([points[..., 0] * 2 + 1, np.sin(points[..., 1] * 3)], -1)
    made = _run(_image.interpolate_spline(points, values, points, order))
    np.testing.assert_allclose(made, values, atol=1e-6)
    elsewhere = np.random.RandomState(7).uniform(size=(1, 5, 2))
    made = _run(_image.interpolate_spline(points, values, elsewhere, order))
    np.testing.assert_allclose(made[..., 0], elsewhere[..., 0] * 2 + 1, atol=1e-6)


def test_a_smooth_spline_passes_by_its_points():
    points = np.random.RandomState(6).uniform(size=(1, 8, 2))
    values = np.random.RandomState(8).uniform(size=(1, 8, 1))
    made = _run(_image.interpolate_spline(points, values, points, 2, regularization_weight=10.0))
    assert np.abs(made - values).max() > 0.05


def test_points_of_an_image_come_to_lie_elsewhere():
    image = np.zeros((1, 9, 9, 1), np.float32)
    image[0, 4, 4] = 1.0
    made, flow = _run(
        *_image.sparse_image_warp(image, [[[4.0, 4.0]]], [[[5.0, 6.0]]], num_boundary_points=2)
    )
    assert made[0, 5, 6, 0] == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(flow[0, 5, 6], [1.0, 2.0], atol=1e-3)
    np.testing.assert_allclose(flow[0, 0, [0, 4, 8]], np.zeros((3, 2)), atol=1e-3)

"""Images as programs change them; pixels are compared with TensorFlow's in tests/interop."""

import numpy as np
import pytest

import millrace as tf

IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_images_get_another_size(session):
    image = tf.constant(IMAGE)
    resized = tf.image.resize_images(image, [2, 3])
    assert resized.shape.as_list() == [2, 3, 3]
    assert resized.dtype == tf.float32
    np.testing.assert_array_equal(session.run(resized), IMAGE[::2, ::2])
    nearest = tf.image.resize_images(
        [IMAGE, IMAGE], [8, 12], tf.image.ResizeMethod.NEAREST_NEIGHBOR
    )
    assert nearest.dtype == tf.uint8
    np.testing.assert_array_equal(session.run(nearest)[1], IMAGE.repeat(2, 0).repeat(2, 1))


def test_the_same_size_is_the_same_image(session):
    same = tf.image.resize_images(IMAGE, [4, 6], tf.image.ResizeMethod.BICUBIC)
    np.testing.assert_array_equal(session.run(same), IMAGE)


def test_proportions_stay_if_asked(session):
    resized = tf.image.resize_images(IMAGE, [8, 8], preserve_aspect_ratio=True)
    assert session.run(resized).shape == (5, 8, 3)


def test_parts_are_cut_out_and_put_into_black(session):
    cut = tf.image.crop_to_bounding_box(IMAGE, 1, 2, 2, 3)
    np.testing.assert_array_equal(session.run(cut), IMAGE[1:3, 2:5])
    padded = session.run(tf.image.pad_to_bounding_box(IMAGE, 1, 2, 6, 9))
    np.testing.assert_array_equal(padded[1:5, 2:8], IMAGE)
    assert padded.shape == (6, 9, 3) and padded.sum() == IMAGE.sum()
    with pytest.raises(ValueError):
        tf.image.crop_to_bounding_box(IMAGE, 3, 0, 2, 3)
    with pytest.raises(ValueError):
        tf.image.pad_to_bounding_box(IMAGE, 0, 0, 3, 6)


def test_sizes_that_are_known_late_are_cropped_and_padded_as_well(session):
    image = tf.placeholder(tf.uint8, [None, None, 3])
    made = tf.image.resize_image_with_crop_or_pad(image, 6, 4)
    assert made.shape.as_list() == [6, 4, 3]
    expected = np.pad(IMAGE[:, 1:5], [[1, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(session.run(made, {image: IMAGE}), expected)
    known = tf.image.resize_image_with_crop_or_pad(IMAGE, 6, 4)
    np.testing.assert_array_equal(session.run(known), expected)


def test_images_are_turned(session):
    flips = [tf.image.flip_left_right(IMAGE), tf.image.flip_up_down(IMAGE), tf.image.rot90(IMAGE)]
    mirrored, upside_down, turned = session.run(flips)
    np.testing.assert_array_equal(mirrored, IMAGE[:, ::-1])
    np.testing.assert_array_equal(upside_down, IMAGE[::-1])
    np.testing.assert_array_equal(turned, np.rot90(IMAGE))


def test_random_flips_are_either_image(session):
    flipped = tf.image.random_flip_left_right(tf.constant(IMAGE), seed=3)
    seen = {session.run(flipped).tobytes() for _ in range(30)}
    assert seen == {IMAGE.tobytes(), IMAGE[:, ::-1].tobytes()}
    batch = session.run(tf.image.random_flip_left_right(np.stack([IMAGE] * 30), seed=3))
    assert {image.tobytes() for image in batch} == seen


def test_types_have_ranges(session):
    floats = tf.image.convert_image_dtype(tf.constant([[[0, 51, 255]]], tf.uint8), tf.float32)
    np.testing.assert_allclose(session.run(floats), [[[0.0, 0.2, 1.0]]])
    back = tf.image.convert_image_dtype(floats, tf.uint8)
    assert session.run(back).tolist() == [[[0, 51, 255]]]


def test_brightness_and_colours_of_bytes_stay_bytes(session):
    image = tf.constant(IMAGE)
    brighter = tf.image.adjust_brightness(image, 1.0)
    assert brighter.dtype == tf.uint8
    assert (session.run(brighter) == 255).all()
    for made in (
        tf.image.random_brightness(image, 0.1),
        tf.image.random_contrast(image, 0.5, 1.5),
        tf.image.random_hue(image, 0.1),
        tf.image.random_saturation(image, 0.5, 1.5),
    ):
        assert session.run(made).dtype == np.uint8
        assert made.shape.as_list() == [4, 6, 3]
    with pytest.raises(ValueError, match="non-negative"):
        tf.image.random_brightness(image, -1)
    with pytest.raises(ValueError, match="upper must be > lower"):
        tf.image.random_contrast(image, 1.5, 0.5)


def test_an_image_is_standardized(session):
    made = session.run(tf.image.per_image_standardization(IMAGE))
    np.testing.assert_allclose([made.mean(), made.std()], [0, 1], atol=1e-5)
    flat = session.run(tf.image.per_image_standardization(np.full([2, 2, 1], 7, np.uint8)))
    assert (flat == 0).all()


def test_the_gradient_of_a_resize_goes_to_the_pixels(session):
    x = tf.constant(np.ones([1, 2, 2, 1], np.float32))
    for method in range(3):
        y = tf.image.resize_images(x, [4, 4], method)
        grad = session.run(tf.gradients(y, x)[0])
        np.testing.assert_allclose(grad.sum(), 16, rtol=1e-5)


def test_images_are_written_and_read(session):
    image = tf.constant(IMAGE)
    png = tf.image.encode_png(image)
    np.testing.assert_array_equal(session.run(tf.image.decode_png(png)), IMAGE)
    np.testing.assert_array_equal(session.run(tf.image.decode_image(png, channels=3)), IMAGE)
    jpeg = tf.image.encode_jpeg(image, quality=100)
    decoded = tf.image.decode_jpeg(jpeg, channels=3)
    assert decoded.shape.as_list() == [None, None, 3]
    assert session.run(decoded).shape == IMAGE.shape
    assert session.run(tf.image.extract_jpeg_shape(jpeg)).tolist() == [4, 6, 3]
    assert session.run([tf.image.is_jpeg(jpeg), tf.image.is_jpeg(png)]) == [True, False]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        session.run(tf.image.decode_jpeg("no image"))


def test_boxes_are_drawn_cut_out_and_chosen(session):
    black = np.zeros([1, 5, 5, 3], np.float32)
    drawn = session.run(tf.image.draw_bounding_boxes(black, [[[0.0, 0.0, 1.0, 1.0]]]))
    assert (drawn[0, 1:4, 1:4] == 0).all() and (drawn[0, 0] != 0).any(-1).all()
    crops = tf.image.crop_and_resize([IMAGE], [[0.0, 0.0, 1.0, 1.0]], [0], [4, 6])
    assert crops.shape.as_list() == [1, 4, 6, 3]
    np.testing.assert_allclose(session.run(crops)[0], IMAGE, atol=1e-4)
    boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
    kept = tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.7], 3)
    assert session.run(kept).tolist() == [0, 2]


def test_boxes_that_overlap_are_dropped_or_lose_some_of_their_score(session):
    boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0]]
    scores = [1.0, 0.75, 0.5]
    kept, left = session.run(tf.image.non_max_suppression_with_scores(boxes, scores, 3))
    assert kept.tolist() == [0, 2] and left.tolist() == [1, 0.5]
    kept, left = session.run(
        tf.image.non_max_suppression_with_scores(boxes, scores, 3, soft_nms_sigma=0.5)
    )
    assert kept.tolist() == [0, 2, 1]
    np.testing.assert_allclose(left, [1, 0.5, 0.75 * np.exp(-1)], rtol=1e-6)
    padded = tf.image.non_max_suppression_padded(boxes, scores, 4, pad_to_max_output_size=True)
    kept, number = session.run(padded)
    assert kept.tolist() == [0, 2, 0, 0] and number == 2
    overlaps = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]
    kept = tf.image.non_max_suppression_overlaps(overlaps, scores, 3)
    assert session.run(kept).tolist() == [0, 2]


def test_the_best_boxes_of_all_classes_are_those_of_each_class(session):
    boxes = np.array([[[0, 0, 1, 1]], [[0, 0, 1, 1]], [[0, 2, 1, 3]]], np.float32)[None]
    scores = np.array([[0.5, 0.25], [0.75, 0], [0, 1]], np.float32)[None]
    best = tf.image.combined_non_max_suppression(
        boxes, scores, 2, 4, score_threshold=0.1, pad_per_class=True
    )
    assert [part.shape.as_list() for part in best] == [[1, 4, 4], [1, 4], [1, 4], [1]]
    found, left, classes, number = session.run(best)
    assert number.tolist() == [3] and left[0].tolist() == [1, 0.75, 0.25, 0]
    assert classes[0].tolist() == [1, 0, 1, 0] and found[0, 0].tolist() == [0, 1, 1, 1]


def test_scaled_images_pass_their_gradient_on(session):
    rng = np.random.default_rng(6)
    image = tf.constant(rng.uniform(size=[2, 4, 5, 2]), tf.float32)
    for kernel in ["lanczos3", "triangle"]:
        scaled = tf.raw_ops.ScaleAndTranslate(
            images=image,
            size=[3, 7],
            scale=[0.75, 1.5],
            translation=[0.25, -0.5],
            kernel_type=kernel,
        )
        assert scaled.shape.as_list() == [2, 3, 7, 2]
        error = tf.test.compute_gradient_error(
            image, [2, 4, 5, 2], scaled, [2, 3, 7, 2], delta=1e-2
        )
        assert error < 2e-3


def test_a_projected_image_has_its_gradient_projected_back(session):
    image = tf.constant(np.arange(12.0).reshape([1, 3, 4, 1]), tf.float32)
    # One to the left, two up.
    moved = tf.raw_ops.ImageProjectiveTransformV3(
        images=image,
        transforms=[[1.0, 0, 1, 0, 1, 2, 0, 0]],
        output_shape=[3, 4],
        fill_value=-1.0,
        interpolation="NEAREST",
    )
    weights = tf.constant(np.arange(1.0, 13).reshape([1, 3, 4, 1]), tf.float32)
    (back,) = tf.gradients(moved * weights, image)
    made, gradient = session.run([moved, back])
    assert made[0, :, :, 0].tolist() == [[9, 10, 11, -1], [-1] * 4, [-1] * 4]
    assert gradient[0, :, :, 0].tolist() == [[0] * 4, [0] * 4, [0, 1, 2, 3]]


def test_crops_pass_their_gradient_on_to_images_and_boxes(session):
    rng = np.random.default_rng(5)
    image = tf.constant(rng.uniform(size=[2, 5, 6, 2]), tf.float32)
    # Between pixels: on one of them the derivative is another one to each side.
    places = np.array([[0.11, 0.23, 0.87, 0.79], [0.4, 0.1, 0.9, 1.3]], np.float32)
    boxes = tf.constant(places)
    crops = tf.image.crop_and_resize(image, boxes, [1, 0], [3, 4])
    weights = tf.constant(rng.uniform(size=[2, 3, 4, 2]), tf.float32)
    error = tf.test.compute_gradient_error
    assert error(image, [2, 5, 6, 2], crops * weights, [2, 3, 4, 2], delta=1e-2) < 2e-3
    assert error(boxes, [2, 4], crops * weights, [2, 3, 4, 2], places, 1e-3) < 2e-2
    nearest = tf.image.crop_and_resize(image, boxes, [1, 0], [3, 4], method="nearest")
    assert error(image, [2, 5, 6, 2], nearest * weights, [2, 3, 4, 2], delta=1e-2) < 2e-3


def test_parts_of_images_are_drawn_at_random(session):
    boxes = [[[0.1, 0.2, 0.9, 0.8]]]
    begin, size, box = session.run(
        tf.image.sample_distorted_bounding_box([40, 50, 3], boxes, seed=1, seed2=2)
    )
    # TensorFlow's for these seeds.
    assert begin.tolist() == [6, 1, 0] and size.tolist() == [16, 16, -1]
    np.testing.assert_allclose(box, [[[0.15, 0.02, 0.55, 0.34]]], rtol=1e-6)
    part = tf.slice(tf.zeros([40, 50, 3]), begin, size)
    assert session.run(part).shape == (16, 16, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes provided"):
        session.run(tf.image.sample_distorted_bounding_box([4, 5, 3], np.zeros([1, 0, 4], "f")))


def test_colours_are_turned_and_scaled_in_yiq(session):
    image = np.random.default_rng(3).uniform(size=(4, 5, 3)).astype(np.float32)
    adjust = tf.contrib.image.adjust_hsv_in_yiq
    # The matrices of there and back are rounded, as TensorFlow has them.
    assert np.allclose(session.run(adjust(image)), image, atol=2e-3)
    assert np.allclose(session.run(adjust(image, value_scale=0.5)), image / 2, atol=2e-3)
    grey = image @ np.array([0.299, 0.587, 0.114])
    flat = session.run(adjust(image, saturation_scale=0.0))
    assert np.allclose(flat, np.repeat(grey[..., None], 3, -1), atol=2e-3)
    half = adjust(adjust(image, delta_hue=np.pi / 2), delta_hue=np.pi / 2)
    assert np.allclose(session.run(half), session.run(adjust(image, delta_hue=np.pi)), atol=5e-3)
    whole = session.run(adjust((image * 255).astype(np.uint8), value_scale=4.0))
    assert whole.dtype == np.uint8 and whole.max() == 255
    chance = tf.contrib.image.random_hsv_in_yiq(image, 0.5, 0.5, 1.5, 0.9, 1.1, seed=2)
    a, b = session.run([chance, chance + 0.0])
    assert np.allclose(a, b) and not np.allclose(a, image, atol=1e-2)
    assert np.allclose(session.run(tf.contrib.image.random_hsv_in_yiq(image)), image, atol=2e-3)
    with pytest.raises(ValueError, match="lower_value must be < upper_value"):
        tf.contrib.image.random_hsv_in_yiq(image, lower_value=2)
    with pytest.raises(ValueError, match="3 channels"):
        adjust(np.zeros((2, 4)))


def test_glimpses_are_windows_around_an_offset(session):
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    middle = tf.image.extract_glimpse(image, [1, 2], [[0.0, 0.0]])
    assert middle.shape.as_list() == [1, 1, 2, 1]
    assert session.run(middle).ravel().tolist() == [5, 6]
    corner = tf.image.extract_glimpse(image, [2, 2], [[2.0, 2.0]], False, False)
    assert session.run(corner).ravel().tolist() == [5, 6, 9, 10]
    with pytest.raises(tf.errors.InvalidArgumentError, match="a matrix"):
        session.run(
            tf.image.extract_glimpse(image, [1, 2], tf.placeholder_with_default([0.0], None))
        )


def test_a_bmp_is_decoded_by_its_own_op_and_by_the_one_for_all(session):
    header = np.array([54, 40, 1, 2], "<i4").tobytes() + b"\1\0\x08\0" + bytes(24)
    bmp = b"BM" + bytes(8) + header + b"\7___\5___"
    for decode in (tf.image.decode_bmp, tf.image.decode_image):
        assert session.run(decode(bmp)).tolist() == [[[5]], [[7]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="decode_bmp"):
        session.run(tf.image.decode_png(bmp))


def test_a_part_of_a_jpeg_is_that_of_the_whole(session):
    image = np.random.RandomState(2).randint(0, 256, (20, 30, 3)).astype(np.uint8)
    jpeg = tf.image.encode_jpeg(image, quality=90)
    part = tf.image.decode_and_crop_jpeg(jpeg, [3, 5, 10, 12], channels=3)
    assert part.shape.as_list() == [10, 12, 3] and tf.io.decode_and_crop_jpeg
    whole, found = session.run([tf.image.decode_jpeg(jpeg), part])
    assert (found == whole[3:13, 5:17]).all()
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.image.decode_and_crop_jpeg(jpeg, [15, 5, 10, 12]))


def test_the_quality_of_a_jpeg_is_drawn_between_two(session):
    image = np.random.RandomState(2).randint(0, 256, (8, 8, 3)).astype(np.uint8)
    drawn = tf.image.random_jpeg_quality(image, 10, 90, seed=4)
    quality = np.random.RandomState(4).randint(10, 90)
    wanted = tf.image.adjust_jpeg_quality(image, quality)
    assert np.array_equal(*session.run([drawn, wanted]))
    for low, high, said in ((-1, 50, "between 0 and 100"), (50, 50, "less than")):
        with pytest.raises(ValueError, match=said):
            tf.image.random_jpeg_quality(image, low, high)


def test_a_gif_has_all_its_frames_or_the_first(session):
    map_of_two = b"\x80\0\0" + bytes([0, 0, 0, 1, 2, 3])
    frame = b",\0\0\0\0\1\0\1\0\0\2\2\x4c\1\0"
    gif = b"GIF87a\1\0\1\0" + map_of_two + 2 * frame + b";"
    frames = tf.image.decode_gif(gif)
    assert frames.shape.as_list() == [None, None, None, 3] and tf.io.decode_gif
    assert session.run(frames).tolist() == 2 * [[[[1, 2, 3]]]]
    assert session.run(tf.image.decode_image(gif)).shape == (2, 1, 1, 3)
    first = tf.image.decode_image(gif, expand_animations=False)
    assert first.shape.ndims == 3 and session.run(first).tolist() == [[[1, 2, 3]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Got 2 frames"):
        session.run(tf.image.decode_png(gif))

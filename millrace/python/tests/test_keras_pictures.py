"""Keras's pictures: in files and as arrays, changed, and in batches."""

import numpy as np
import pytest

import millrace as tf

image = tf.keras.preprocessing.image


def pixels(*shape, seed=0):
    return np.random.RandomState(seed).randint(0, 256, shape).astype(np.float32)


def test_pictures_are_written_and_read(tmp_path):
    for channels, mode in ((1, "grayscale"), (3, "rgb"), (4, "rgba")):
        x = pixels(5, 4, channels)
        image.save_img(tmp_path / "x.png", x, scale=False)
        read = image.load_img(tmp_path / "x.png", color_mode=mode)
        assert read.size == (4, 5)
        np.testing.assert_array_equal(image.img_to_array(read), x)
    first = image.img_to_array(image.load_img(tmp_path / "x.png"), "channels_first")
    assert first.shape == (3, 5, 4)
    small = image.load_img(tmp_path / "x.png", target_size=(10, 8))
    np.testing.assert_array_equal(
        image.img_to_array(small), first.transpose(1, 2, 0).repeat(2, 0).repeat(2, 1)
    )
    image.save_img(tmp_path / "x.jpg", pixels(8, 8, 3))
    assert image.img_to_array(image.load_img(tmp_path / "x.jpg")).shape == (8, 8, 3)
    scaled = image.img_to_array(image.array_to_img(np.arange(4.0).reshape(2, 2, 1)))
    np.testing.assert_array_equal(scaled[..., 0], [[0, 85], [170, 255]])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: image.array_to_img(np.zeros([2, 2])), "rank 3"),
        (lambda: image.array_to_img(np.zeros([2, 2, 2])), "channel number: 2"),
        (lambda: image.load_img("x", color_mode="cmyk"), "color_mode must be"),
        (lambda: image.load_img("x", target_size=(1, 1), interpolation="x"), "interpolation"),
        (lambda: image.apply_affine_transform(np.zeros([2, 2, 1]), fill_mode="x"), "fill_mode"),
        (lambda: image.ImageDataGenerator(zoom_range=[1, 2, 3]), "zoom_range"),
        (lambda: image.ImageDataGenerator(validation_split=1.0), "validation_split"),
        (lambda: image.ImageDataGenerator(featurewise_center=True).standardize(1.0), "fit"),
        (lambda: image.ImageDataGenerator().flow(np.zeros([2, 2, 2])), "rank 4"),
        (lambda: image.ImageDataGenerator().flow(np.zeros([2, 2, 2, 1]), [1]), "same length"),
    ],
)
def test_what_does_not_fit_is_said(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_pictures_are_moved_by_whole_and_parts_of_pixels():
    x = np.arange(20.0).reshape(4, 5, 1)
    down = image.apply_affine_transform(x, tx=1)
    np.testing.assert_allclose(down[:, :, 0], x[[1, 2, 3, 3], :, 0])
    half = image.apply_affine_transform(x, ty=0.5)
    np.testing.assert_allclose(half[:, :4, 0], x[:, :4, 0] + 0.5)
    zeros = image.apply_affine_transform(x, tx=-2, fill_mode="constant", cval=-1.0)
    np.testing.assert_allclose(zeros[:, :, 0], [[-1] * 5, [-1] * 5, *x[:2, :, 0]])
    mirrored = image.apply_affine_transform(x, tx=2, fill_mode="reflect")
    np.testing.assert_allclose(mirrored[:, :, 0], x[[2, 3, 3, 2], :, 0])
    round_again = image.apply_affine_transform(x, tx=2, fill_mode="wrap")
    np.testing.assert_allclose(round_again[:, :, 0], x[[2, 3, 1, 2], :, 0])


def test_pictures_are_turned_zoomed_and_sheared_about_their_middle():
    x = pixels(5, 5, 2)
    turned = image.apply_affine_transform(x, theta=90)
    np.testing.assert_allclose(turned, np.rot90(x, -1), atol=1e-4)
    twice = image.apply_affine_transform(x, zx=0.5, zy=0.5, order=0)
    np.testing.assert_allclose(twice[2, 2], x[2, 2])
    line = np.zeros([5, 5, 1])
    line[:, 2] = 1
    slanted = image.apply_affine_transform(line, shear=45, order=1)
    np.testing.assert_allclose(slanted[2, 2], 1)
    first = image.apply_affine_transform(
        x.transpose(2, 0, 1), theta=30, row_axis=1, col_axis=2, channel_axis=0
    )
    last = image.apply_affine_transform(x, theta=30)
    np.testing.assert_allclose(first.transpose(1, 2, 0), last)


def test_chance_changes_pictures_as_its_seed_says():
    x = pixels(3, 6, 7, seed=1)
    for change, *settings in (
        (image.random_rotation, 20),
        (image.random_shift, 0.2, 0.3),
        (image.random_shear, 10),
        (image.random_zoom, (0.8, 1.2)),
        (image.random_channel_shift, 30),
    ):
        np.random.seed(3)
        made = change(x, *settings)
        np.random.seed(3)
        np.testing.assert_array_equal(made, change(x, *settings))
        assert made.shape == x.shape and not np.array_equal(made, x)
        assert made.min() >= x.min() - 1e-3 and made.max() <= x.max() + 1e-3
    bright = image.random_brightness(pixels(4, 4, 3), (0.5, 0.5))
    assert bright.max() == 127


def test_batches_of_arrays_come_in_order_with_labels_and_weights():
    x, y = pixels(10, 4, 4, 3), np.arange(10)
    flow = image.ImageDataGenerator(rescale=0.5).flow(
        x, y, batch_size=4, shuffle=False, sample_weight=y * 2.0
    )
    assert len(flow) == 3
    batches = [next(flow) for _ in range(4)]
    assert [len(each[0]) for each in batches] == [4, 4, 2, 4]
    np.testing.assert_allclose(batches[1][0], x[4:8] / 2)
    assert batches[2][1].tolist() == [8, 9] and batches[2][2].tolist() == [16, 18]
    np.testing.assert_allclose(flow[1][0], batches[1][0])
    split = image.ImageDataGenerator(validation_split=0.3)
    assert split.flow(x, y, subset="validation", shuffle=False)[0][1].tolist() == [0, 1, 2]
    assert split.flow(x, y, subset="training", shuffle=False)[0][1].tolist() == list(range(3, 10))
    seeded = [image.ImageDataGenerator().flow(x, y, seed=5)[0][1].tolist() for _ in range(2)]
    assert seeded[0] == seeded[1] != list(range(10))


def test_pictures_are_made_comparable_by_all_or_by_themselves():
    x = pixels(20, 3, 3, 2)
    generator = image.ImageDataGenerator(featurewise_std_normalization=True)
    generator.fit(x)
    batch = generator.flow(x, batch_size=20, shuffle=False)[0]
    np.testing.assert_allclose(batch.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(batch.std((0, 1, 2)), 1, atol=1e-3)
    own = image.ImageDataGenerator(samplewise_std_normalization=True).flow(x)[0]
    np.testing.assert_allclose(own.std((1, 2, 3)), 1, atol=1e-3)
    white = image.ImageDataGenerator(zca_whitening=True)
    white.fit(x)
    flat = white.flow(x, batch_size=20)[0].reshape(20, -1)
    np.testing.assert_allclose(flat.T @ flat / 20, np.eye(18), atol=1e-2)
    both = image.ImageDataGenerator(zca_whitening=True, featurewise_std_normalization=True)
    both.fit(x)
    np.testing.assert_allclose(both.standardize(x[0]), white.standardize(x[0]), rtol=1e-5)


def test_pictures_of_folders_are_batches_of_classes(tmp_path, capsys):
    for name in ("cats", "dogs"):
        (tmp_path / name).mkdir()
        for i in range(4):
            image.save_img(tmp_path / name / f"{i}.png", pixels(6, 6, 3, seed=i), scale=False)
        (tmp_path / name / "notes.txt").write_text("none")
        (tmp_path / name / "moving.gif").write_text("none")
    flow = image.ImageDataGenerator(validation_split=0.25).flow_from_directory(
        str(tmp_path), (6, 6), shuffle=False, batch_size=6, subset="training"
    )
    assert capsys.readouterr().out == "Found 6 images belonging to 2 classes.\n"
    assert flow.class_indices == {"cats": 0, "dogs": 1} and flow.samples == 6
    assert flow.filenames[0] == "cats/1.png"
    batch, labels = next(flow)
    np.testing.assert_array_equal(batch[0], pixels(6, 6, 3, seed=1))
    assert labels.argmax(1).tolist() == flow.classes.tolist() == [0, 0, 0, 1, 1, 1]
    model = tf.keras.Sequential(
        [tf.keras.layers.Flatten(input_shape=(6, 6, 3)), tf.keras.layers.Dense(2)]
    )
    model.compile("sgd", "mse")
    assert len(model.fit_generator(flow, epochs=2, verbose=0).history["loss"]) == 2


def test_a_generator_turns_pictures_over_and_keeps_what_it_gave(tmp_path):
    x = pixels(1, 4, 5, 3)
    generator = image.ImageDataGenerator(horizontal_flip=True)
    seen = {generator.random_transform(x[0], seed=i).tobytes() for i in range(20)}
    assert seen == {x[0].tobytes(), x[0, :, ::-1].tobytes()}
    told = generator.apply_transform(x[0], {"flip_vertical": True, "theta": 180})
    np.testing.assert_allclose(told, x[0, :, ::-1], atol=1e-3)
    next(generator.flow(x, save_to_dir=str(tmp_path), save_prefix="kept"))
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("kept_0_")


def test_pictures_of_a_table_are_those_that_are_there(tmp_path):
    for i in range(4):
        image.save_img(tmp_path / f"{i}.png", pixels(6, 6, 3, seed=i), scale=False)
    (tmp_path / "4.gif").write_text("none by its name")
    table = {
        "filename": ["0.png", "none.png", "1.png", "4.gif", "2.png", "3.png"],
        "class": ["a", "b", "b", "a", "a", "b"],
        "size": np.arange(6.0),
        "weight": np.arange(6.0, 12.0),
    }
    generator = image.ImageDataGenerator(validation_split=0.5)
    options = {"target_size": (6, 6), "shuffle": False}
    with pytest.warns(UserWarning, match="2 invalid image filename"):
        flow = generator.flow_from_dataframe(table, str(tmp_path), subset="training", **options)
    batch, labels = next(flow)
    np.testing.assert_array_equal(batch, [pixels(6, 6, 3, seed=i) for i in (2, 3)])
    assert flow.class_indices == {"a": 0, "b": 1} and labels.tolist() == [[1, 0], [0, 1]]
    with pytest.warns(UserWarning, match="invalid image filename"):
        _, numbers = next(
            generator.flow_from_dataframe(
                table, str(tmp_path), "filename", ["size", "weight"], class_mode="raw", **options
            )
        )
    assert numbers.tolist() == [[0, 6], [2, 8], [4, 10], [5, 11]]
    flow = generator.flow_from_dataframe(table, str(tmp_path), validate_filenames=False)
    assert flow.samples == 6
    with pytest.raises(NotImplementedError, match="weight_col"):
        generator.flow_from_dataframe(table, str(tmp_path), weight_col="weight")

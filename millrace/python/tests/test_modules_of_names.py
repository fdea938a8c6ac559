"""tf.io, tf.config, tf.nest, tf.manip, tf.version and others: modules whose names are mostly other names."""

import os

import numpy as np
import pytest

import millrace as tf


def test_what_is_read_and_written_has_names_in_one_module(session, tmp_path):
    assert tf.io.FixedLenFeature is tf.FixedLenFeature
    assert tf.io.TFRecordWriter is tf.python_io.TFRecordWriter
    assert tf.io.PaddingFIFOQueue is tf.PaddingFIFOQueue
    path = str(tmp_path / "text")
    session.run(tf.io.write_file(path, "words"))
    assert session.run(tf.io.read_file(path)) == b"words"
    assert session.run(tf.io.decode_raw(b"\x01\x02", tf.uint8)).tolist() == [1, 2]


def test_files_have_newer_names(tmp_path):
    gfile = tf.io.gfile
    top = str(tmp_path / "top")
    gfile.makedirs(top + "/inner")
    with gfile.GFile(top + "/a.txt", "w") as file:
        file.write("a")
    gfile.copy(src=top + "/a.txt", dst=top + "/inner/b.txt")
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.rename(top + "/a.txt", top + "/inner/b.txt")
    assert gfile.exists(top) and gfile.isdir(path=top)
    assert sorted(gfile.listdir(top)) == ["a.txt", "inner"]
    assert gfile.glob(top + "/*.txt") == [top + "/a.txt"]
    assert gfile.stat(top + "/a.txt").length == 1
    assert list(gfile.walk(top, topdown=False)) == [
        (top + "/inner", [], ["b.txt"]),
        (top, ["inner"], ["a.txt"]),
    ]
    gfile.remove(top + "/a.txt")
    gfile.rmtree(top)
    assert not gfile.exists(top)


def test_a_walk_tells_what_can_not_be_listed(tmp_path):
    told = []
    assert list(tf.io.gfile.walk(str(tmp_path / "none"), onerror=told.append)) == []
    assert [type(error).__mro__[1] for error in told] == [tf.errors.NotFoundError]
    assert list(tf.io.gfile.walk(str(tmp_path / "none"))) == []


def test_images_are_decoded_to_the_type_that_is_asked_for(session):
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3) * 20
    png = tf.image.encode_png(pixels)
    assert np.array_equal(session.run(tf.io.decode_image(png, 3)), pixels)
    assert session.run(tf.image.decode_image(png)).shape == (2, 2, 3)
    floats = session.run(tf.image.decode_image(png, channels=3, dtype=tf.float32, name="d"))
    np.testing.assert_allclose(floats, pixels / 255, rtol=1e-6)


def test_leaves_of_structures():
    assert tf.nest.flatten({"b": [1, 2], "a": 3}) == [3, 1, 2]
    assert tf.nest.map_structure(lambda x, y: x + y, [1, (2,)], [3, (4,)]) == [4, (6,)]
    assert tf.nest.is_nested((1,)) and not tf.nest.is_nested("ab")
    assert tf.nest.pack_sequence_as([0, (0,)], [1, 2]) == [1, (2,)]


def test_elements_in_other_places(session):
    assert session.run(tf.manip.roll([1, 2, 3], 1, 0)).tolist() == [3, 1, 2]
    assert session.run(tf.manip.gather_nd([[1, 2], [3, 4]], [[1, 0]])).tolist() == [3]
    made = tf.manip.scatter_nd([[1]], [7], [3])
    assert session.run(made).tolist() == [0, 7, 0]


def test_the_version_is_this_packages():
    assert tf.version.VERSION == tf.__version__ == tf.VERSION
    assert tf.version.GRAPH_DEF_VERSION == tf.GRAPH_DEF_VERSION
    assert tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER == 0


def test_sizes_of_shapes_by_both_namings():
    shape = tf.TensorShape([2, None])
    assert tf.dimension_value(shape[0]) == 2 and tf.dimension_value(shape[1]) is None
    assert tf.compat.dimension_value(3) == 3
    assert tf.compat.dimension_at_index(shape, 0) == tf.Dimension(2)
    assert tf.dimension_at_index(tf.TensorShape(None), 4).value is None


def test_types_of_python_that_are_text_or_numbers(tmp_path):
    assert isinstance("a", tf.compat.bytes_or_text_types)
    assert isinstance(np.int64(1), tf.compat.integral_types)
    assert isinstance(1.5, tf.compat.real_types) and isinstance(1j, tf.compat.complex_types)
    assert tf.compat.path_to_str(tmp_path) == os.fspath(tmp_path)


def test_a_horizon_of_compatibility_is_seen_in_its_block():
    assert tf.compat.forward_compatible(2019, 1, 1)
    with tf.compat.forward_compatibility_horizon(2018, 1, 1):
        assert not tf.compat.forward_compatible(2018, 1, 2)
    assert tf.compat.forward_compatible(2018, 1, 2)


def test_types_and_checks_under_newer_names(session):
    assert session.run(tf.dtypes.cast(1.7, tf.int32)) == 1
    assert session.run(tf.dtypes.complex(1.0, 2.0)) == 1 + 2j
    assert session.run(tf.dtypes.saturate_cast(300, tf.uint8)) == 255
    assert session.run(tf.dtypes.as_string(7)) == b"7"
    assert tf.qint8 in tf.dtypes.QUANTIZED_DTYPES and tf.int8 not in tf.dtypes.QUANTIZED_DTYPES
    assert session.run(tf.debugging.is_nan([1.0, np.nan])).tolist() == [False, True]
    assert session.run(tf.debugging.is_strictly_increasing([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="loss"):
        session.run(tf.debugging.check_numerics(tf.constant(np.inf), "loss"))


def test_a_graph_has_one_generator_for_all(session):
    generator = tf.random.experimental.get_global_generator()
    assert tf.random.experimental.get_global_generator() is generator
    seeded = tf.random.experimental.Generator.from_seed(1)
    tf.random.experimental.set_global_generator(seeded)
    assert tf.random.experimental.get_global_generator() is seeded
    session.run(tf.global_variables_initializer())
    first, second = (session.run(generator.normal([2])) for _ in range(2))
    assert first.shape == (2,) and not np.array_equal(first, second)


def test_tables_are_initialized_by_a_newer_name(session):
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b"]))
    session.run(tf.initializers.tables_initializer())
    assert session.run(table.lookup(tf.constant(["b"]))).tolist() == [1]

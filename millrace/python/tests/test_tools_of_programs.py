"""What programs use around their models: tf.test, files of records, arrays made ready, timelines."""

import gzip
import json
import os
import resource
import struct
import subprocess
import sys
import textwrap
import zlib

import numpy as np
import pytest

import millrace as tf
from millrace import _millrace
from millrace._summaries import record_files


def run(tmp_path, program, *arguments):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    return subprocess.run(
        [sys.executable, path, *arguments], capture_output=True, text=True, timeout=60
    )


# ---- tf.test -------------------------------------------------------------------------------------


def test_a_program_tests_itself(tmp_path):
    done = run(
        tmp_path,
        """\
        import numpy as np
        import millrace as tf

        class AddTest(tf.test.TestCase):
            def test_sums(self):
                with self.test_session() as session:
                    x = tf.constant([1.0, 2.0])
                    self.assertAllClose([2, 4], (x + x).eval())
                    self.assertAllEqual(x, session.run(x))
                    self.assertAllClose({"a": x, "b": [x, [1.0]]}, {"a": [1, 2], "b": [[1, 2], [1]]})
                    self.assertShapeEqual(np.zeros(2), x)

            def test_fails(self):
                self.assertAllClose([1.0], [1.1])

            def test_graphs_are_fresh(self):
                self.assertEmpty(tf.get_default_graph().get_operations())
                with self.session() as session:
                    tf.constant(1, name="only")

            def test_errors(self):
                with self.cached_session() as session:
                    queue = tf.FIFOQueue(1, tf.int32)
                    session.run(queue.close())
                    with self.assertRaisesOpError("is closed"):
                        session.run(queue.dequeue())
                    with self.assertRaisesWithPredicateMatch(ValueError, lambda e: "x" in str(e)):
                        raise ValueError("x")

            def test_random_numbers_are_the_same(self):
                self.assertNear(np.random.rand(), 0.1, 1)
                self.assertEqual(tf.get_default_graph().seed, 87654321)

        tf.test.main()
        """,
    )
    assert done.returncode == 1
    # test_session has the name of a test, and is none.
    assert "Ran 6 tests" in done.stderr, done.stderr
    assert "FAILED (failures=1, skipped=1)" in done.stderr, done.stderr
    assert "Not equal to tolerance" in done.stderr


def test_what_is_not_near_is_told():
    case = tf.test.TestCase()
    with pytest.raises(AssertionError, match="1 != 2 \\+/- 0.5"):
        case.assertNear(1, 2, 0.5)
    with pytest.raises(AssertionError, match="Shape mismatch"):
        case.assertAllEqual([1], [[1]])
    with pytest.raises(AssertionError, match="ValueError not raised"):
        with case.assertRaisesWithPredicateMatch(ValueError, "x"):
            pass
    case.assertNotAllClose([1.0], [2.0])
    case.assertAllCloseAccordingToType(np.float16(1.0), np.float16(1.0005))
    case.assertArrayNear([1, 2], [1.05, 2], 0.1)


def test_there_are_no_gpus():
    assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda()
    assert tf.test.gpu_device_name() == ""


def test_gradients_are_held_against_differences(session):
    x = tf.placeholder(tf.float64, [2])
    y = tf.stack([x[0] * x[1], tf.square(x[0]), x[1]])
    exact, near = tf.test.compute_gradient(x, [2], y, [3], x_init_value=np.array([2.0, 3.0]))
    assert exact.tolist() == [[3, 4, 0], [2, 0, 1]]
    np.testing.assert_allclose(near, exact, atol=1e-6)
    assert tf.test.compute_gradient_error(x, [2], y, [3]) < 1e-6
    wrong = tf.custom_gradient(lambda v: (v * v, lambda g: g))(x)
    assert tf.test.compute_gradient_error(x, [2], wrong, [2], np.array([2.0, 3.0])) > 1


# ---- Files of records ----------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP"])
def test_records_are_read_as_they_were_written(tmp_path, compression):
    path = str(tmp_path / "records")
    options = tf.python_io.TFRecordOptions(compression)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in (b"abc", b"", b"x" * 10000):
            writer.write(record)
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"abc", b"", b"x" * 10000]
    data = open(path, "rb").read()
    plain = {"": bytes, "ZLIB": zlib.decompress, "GZIP": gzip.decompress}[compression](data)
    assert plain.startswith(b"\x03\0\0\0\0\0\0\0\xb0\x99I\x0eabcnW\xf1!")


@pytest.mark.parametrize("left", [19 + 12, 19 + 18])
def test_records_before_one_that_is_cut_off_are_read(tmp_path, left):
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"abc")
        writer.write(b"def")
    os.truncate(path, left)
    records = tf.python_io.tf_record_iterator(path)
    assert next(records) == b"abc"
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 19"):
        next(records)
    os.truncate(path, 19 + 11)  # less than a head is the end, as TensorFlow has it
    assert list(tf.python_io.tf_record_iterator(path)) == [b"abc"]


@pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP"])
@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 20])
def test_records_are_found_wherever_the_pieces_of_a_file_end(
    tmp_path, monkeypatch, compression, piece
):
    path = str(tmp_path / "records")
    records = [b"", b"a", b"bc" * 10, bytes(300), b"", b"last"]
    with tf.python_io.TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    monkeypatch.setattr(record_files, "_PIECE", piece)
    assert list(tf.python_io.tf_record_iterator(path, compression)) == records
    # Of one that is cut off the records before come, and then the error.
    os.truncate(path, os.path.getsize(path) - 1)
    read = tf.python_io.tf_record_iterator(path, compression)
    assert [next(read) for _ in records[:-1]] == records[:-1]
    with pytest.raises(tf.errors.DataLossError):
        list(read)


def test_a_gzip_file_of_several_parts_is_all_of_them(tmp_path):
    path = tmp_path / "records"
    parts = [gzip.compress(_millrace.record(each)) for each in (b"a", b"", bytes(3_000_000))]
    path.write_bytes(b"".join(parts))
    read = tf.python_io.tf_record_iterator(str(path), "GZIP")
    assert list(read) == [b"a", b"", bytes(3_000_000)]


@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_records_before_a_damaged_one_are_read(tmp_path, monkeypatch, piece):
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for record in (b"abc", b"defg", b"hij"):
            writer.write(record)
    monkeypatch.setattr(record_files, "_PIECE", piece)
    whole = path.read_bytes()
    for at in range(19, 39):  # the second
        data = bytearray(whole)
        data[at] ^= 1
        path.write_bytes(data)
        records = tf.python_io.tf_record_iterator(str(path))
        assert next(records) == b"abc"
        with pytest.raises(tf.errors.DataLossError, match="corrupted record at 19"):
            next(records)


def test_a_large_file_of_records_is_never_in_memory(tmp_path):
    """A record that says it has 3 GB is not looked for, and of a file of gigabytes a piece is read."""
    path = tmp_path / "records"
    path.write_bytes(_millrace.record(b"abc"))
    head = b"\0\0\0\xc0\0\0\0\0"  # and its checksum, which a record of that length would have
    checksum = _millrace.record(head)[-4:]
    with open(path, "ab") as file:
        file.write(head + checksum)
        file.truncate(10 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    records = tf.python_io.tf_record_iterator(str(path))
    assert next(records) == b"abc"
    with pytest.raises(tf.errors.InvalidArgumentError, match="at 19 has 3221225472 bytes"):
        next(records)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_what_goes_wrong_with_records_is_told(tmp_path):
    path = str(tmp_path / "records")
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.python_io.tf_record_iterator(path))
    writer = tf.python_io.TFRecordWriter(path)
    writer.write(b"abc")
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"abc")
    with pytest.raises(tf.errors.DataLossError):
        list(tf.python_io.tf_record_iterator(path, tf.python_io.TFRecordOptions("GZIP")))
    with pytest.raises(ValueError, match="Not a valid compression_type: 'LZ4'"):
        tf.python_io.TFRecordOptions("LZ4")
    full = tf.python_io.TFRecordWriter("/dev/full")
    full.write(b"abc")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
        full.close()


# ---- Arrays --------------------------------------------------------------------------------------


def test_classes_become_vectors():
    assert tf.keras.utils.to_categorical([0, 2]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert tf.keras.utils.to_categorical([[1], [0]], 2, "int8").tolist() == [[0, 1], [1, 0]]
    assert tf.keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [
        [0.6, 0.8],
        [0, 0],
    ]


def test_sequences_become_rows():
    pad = tf.keras.preprocessing.sequence.pad_sequences
    assert pad([[1], [2, 3]]).tolist() == [[0, 1], [2, 3]]
    assert pad([[1], [2, 3, 4]], 2, padding="post", truncating="post", value=9).tolist() == [
        [1, 9],
        [2, 3],
    ]
    assert pad([[1, 2, 3]], 2).tolist() == [[2, 3]]
    assert pad([], 2).shape == (0, 2) and pad([[]], 2).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="Padding type"):
        pad([[1]], padding="middle")
    with pytest.raises(ValueError, match="Found non-iterable: 3"):
        pad([3])


def test_the_preferred_type_is_kept():
    assert tf.keras.backend.floatx() == "float32" and tf.keras.backend.epsilon() == 1e-7
    tf.keras.backend.set_floatx("float64")
    assert tf.keras.backend.floatx() == "float64"
    tf.keras.backend.set_floatx("float32")
    with pytest.raises(ValueError, match="Unknown floatx type: int8"):
        tf.keras.backend.set_floatx("int8")


@pytest.fixture
def mnist(tmp_path):
    """A folder with files like MNIST's: six pictures of 2 x 2, of which two are to test with."""
    for name, first, count in (("train", 0, 6), ("t10k", 100, 2)):
        pixels = bytes(range(first, first + 4 * count))
        with gzip.open(tmp_path / f"{name}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 2, 2) + pixels)
        with open(tmp_path / f"{name}-labels-idx1-ubyte", "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + bytes(range(count)))
    return str(tmp_path)


def test_digits_are_read_from_files_that_are_there(mnist):
    from millrace.contrib.learn.python.learn.datasets.mnist import read_data_sets
    from millrace.examples.tutorials.mnist import input_data

    assert input_data.read_data_sets is read_data_sets
    data = input_data.read_data_sets(mnist, one_hot=True, validation_size=2, seed=1)
    assert [part.num_examples for part in data] == [4, 2, 2]
    assert data.validation.images[1].tolist() == [
        np.float32(v * np.float32(1 / 255)) for v in (4, 5, 6, 7)
    ]
    assert data.test.labels.tolist() == np.eye(10)[:2].tolist()
    images, labels = data.train.next_batch(3)
    assert images.shape == (3, 4) and data.train.epochs_completed == 0
    more, _ = data.train.next_batch(3)
    assert data.train.epochs_completed == 1
    # All four pictures come once before one comes again.
    assert {tuple(image) for image in [*images, more[0]]} == {tuple(i) for i in data.train.images}
    with pytest.raises(ValueError, match="a batch of 5 is more than all 4"):
        data.train.next_batch(5)


def test_digits_come_in_the_order_that_the_seeds_of_a_program_give(mnist, capsys):
    from millrace.examples.tutorials.mnist import input_data

    def order(**options):
        data = input_data.read_data_sets(mnist, validation_size=1, **options)
        return data.train.next_batch(5)[1].tolist()

    # An own seed, then the graph's, seeds NumPy's generator, which draws the order and goes on from there.
    np.random.seed(7)
    expected = (1 + np.random.permutation(5)).tolist(), np.random.rand()
    assert order(seed=7) == expected[0] and np.random.rand() == expected[1]
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        assert (order(), np.random.rand()) == expected
    np.random.seed(7)
    order()
    assert np.random.rand() != expected[1]
    name = f"{mnist}/train-labels-idx1-ubyte.gz"
    assert capsys.readouterr().out.splitlines().count(f"Extracting {name}") == 3


def test_digits_may_be_read_from_open_files(mnist):
    from millrace.contrib.learn.python.learn.datasets.mnist import extract_images

    with tf.gfile.Open(mnist + "/t10k-images-idx3-ubyte.gz", "rb") as file:
        assert extract_images(file).shape == (2, 2, 2, 1)


def test_digits_may_be_faked():
    from millrace.examples.tutorials.mnist import input_data

    data = input_data.read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(2, True)
    assert data.test.num_examples == 10000 and np.shape(images) == (2, 784)
    assert labels == [[1] + [0] * 9] * 2


def test_keras_fetches_digits_that_are_not_there(tmp_path, monkeypatch):
    from millrace._samples import mnist

    held = tmp_path / "held.npz"
    parts = {f"{part}_{kind}": np.arange(2) for part in ("x", "y") for kind in ("train", "test")}
    np.savez(held, **parts)
    asked = []

    def fetched(name, origin, file_hash):
        asked.append((name, origin.rpartition("/")[2], len(file_hash)))
        return str(held)

    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(mnist, "get_file", fetched)
    (x, _), (_, y) = tf.keras.datasets.mnist.load_data()
    assert x.tolist() == y.tolist() == [0, 1] and asked == [("mnist.npz", "mnist.npz", 64)]
    (tmp_path / "datasets").mkdir()
    held.rename(tmp_path / "datasets" / "mnist.npz")
    tf.keras.datasets.mnist.load_data()
    assert len(asked) == 1


def test_digits_that_are_not_there_are_not_downloaded(tmp_path):
    from millrace.examples.tutorials.mnist import input_data

    with pytest.raises(tf.errors.NotFoundError, match="nothing is downloaded here"):
        input_data.read_data_sets(str(tmp_path))
    with pytest.raises(tf.errors.NotFoundError, match="nothing is downloaded here"):
        tf.keras.datasets.mnist.load_data(str(tmp_path / "mnist.npz"))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"\0" * 16)
    with pytest.raises(ValueError, match="Invalid magic number in MNIST file"):
        input_data.read_data_sets(str(tmp_path))


# ---- Timelines -----------------------------------------------------------------------------------


def test_a_step_becomes_a_timeline(session):
    from millrace.python.client import timeline

    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    x = tf.placeholder(tf.float32)
    session.run(tf.square(x, name="squared"), {x: 2.0}, options=options, run_metadata=metadata)
    trace = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    (squared,) = [e for e in trace["traceEvents"] if e["args"]["name"] == "squared"]
    assert squared["name"] == "Square" and squared["ph"] == "X"
    assert squared["ts"] > 0 and squared["dur"] >= 0
    assert any(event["name"] == "process_name" for event in trace["traceEvents"])

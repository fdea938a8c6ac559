"""Readers: files of lines, records and bytes, read through queues into batches."""

import gzip
import zlib

import numpy as np
import pytest

import millrace as tf


def drained(session, fetches):
    """The values of all steps, with queue runners, until the input ends."""
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    values = []
    with coord.stop_on_exception():
        while not coord.should_stop():
            values.append(session.run(fetches))
    coord.join(threads)
    return values


def queue_of(session, *names):
    """A closed queue of names."""
    queue = tf.FIFOQueue(10, [tf.string], [[]])
    session.run(queue.enqueue_many([list(map(str, names))]))
    session.run(queue.close())
    return queue


def all_of(session, fetches):
    values = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            values.append(tuple(session.run(fetches)))
    return values


def written(path, records, options=None):
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for record in records:
            writer.write(record)
    return path


def example(number):
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, -number])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            }
        )
    ).SerializeToString()


def test_examples_of_two_epochs_come_mixed_in_batches(session, tmp_path):
    names = []
    for part in range(3):
        numbers = range(10 * part, 10 * part + 10)
        names.append(str(written(tmp_path / f"part{part}", map(example, numbers))))
    queue = tf.train.string_input_producer(names, num_epochs=2, seed=1)
    _, serialized = tf.TFRecordReader().read(queue)
    parsed = tf.parse_single_example(
        serialized,
        {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([], tf.int64)},
    )
    x, y = tf.train.shuffle_batch(
        [parsed["x"], parsed["y"]], batch_size=6, capacity=40, min_after_dequeue=10, seed=3
    )
    batches = drained(session, [x, y])
    assert len(batches) == 10
    ys = np.concatenate([batch[1] for batch in batches])
    xs = np.concatenate([batch[0] for batch in batches])
    assert sorted(ys) == sorted(list(range(30)) * 2)
    assert list(ys[:30]) != sorted(ys[:30])
    np.testing.assert_array_equal(xs, np.stack([ys, -ys], axis=1).astype(np.float32))


def test_lines_of_csv_files_come_in_batches(session, tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1.5,cat\n2.5,dog\n")
    (tmp_path / "b.csv").write_text("x,label\r\n3.5,\r\n4.5,cow")
    pattern = str(tmp_path / "*.csv")
    queue = tf.train.string_input_producer(
        tf.train.match_filenames_once(pattern), num_epochs=1, shuffle=False
    )
    key, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    x, label = tf.decode_csv(line, [[0.0], ["none"]])
    batches = drained(session, tf.train.batch([key, x, label], 2))
    assert [batch[1].tolist() for batch in batches] == [[1.5, 2.5], [3.5, 4.5]]
    assert [batch[2].tolist() for batch in batches] == [[b"cat", b"dog"], [b"none", b"cow"]]
    assert batches[1][0][1] == str(tmp_path / "b.csv:3").encode()


def test_pictures_of_whole_files_are_decoded(session, tmp_path):
    picture = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    session.run(tf.write_file(str(tmp_path / "p.png"), tf.image.encode_png(picture)))
    session.run(tf.write_file(str(tmp_path / "q.jpg"), tf.image.encode_jpeg(picture, quality=100)))
    names = session.run(tf.matching_files(str(tmp_path / "*")))
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    _, contents = tf.WholeFileReader().read(queue)
    (png, jpeg) = drained(session, tf.image.decode_jpeg(contents, channels=3))
    np.testing.assert_array_equal(png, picture)
    np.testing.assert_array_equal(
        jpeg, session.run(tf.image.decode_jpeg(tf.read_file(str(tmp_path / "q.jpg"))))
    )


@pytest.mark.parametrize("name", ["NONE", "ZLIB", "GZIP"])
def test_records_are_read_as_they_were_packed(session, tmp_path, name):
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, name))
    records = [b"one", b"", b"x" * 700000]
    path = written(tmp_path / "f", records, options)
    reader = tf.TFRecordReader(options=options)
    read = all_of(session, reader.read(queue_of(session, path)))
    assert [value for _, value in read] == records
    assert [key for key, _ in read] == [f"{path}:{at}".encode() for at in (0, 19, 35)]


def test_a_damaged_file_of_records_is_told(session, tmp_path):
    path = written(tmp_path / "f", [b"one", b"two"])
    data = bytearray(path.read_bytes())
    data[32] ^= 1
    path.write_bytes(data)
    reader = tf.TFRecordReader()
    read = reader.read(queue_of(session, path))
    assert session.run(read).value == b"one"
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 31"):
        session.run(read)


@pytest.mark.parametrize("pack", [bytes, zlib.compress, gzip.compress])
def test_records_of_one_length(session, tmp_path, pack):
    path = tmp_path / "f"
    path.write_bytes(pack(b"HH" + b"abcdefghi" + b"FF"))
    encoding = {bytes: None, zlib.compress: "ZLIB", gzip.compress: "GZIP"}[pack]
    reader = tf.FixedLengthRecordReader(
        3, header_bytes=2, footer_bytes=2, hop_bytes=2, encoding=encoding
    )
    read = all_of(session, reader.read(queue_of(session, path)))
    assert [value for _, value in read] == [b"abc", b"cde", b"efg", b"ghi"]
    assert read[3][0] == f"{path}:3".encode()


def test_a_reader_counts_and_can_begin_anew(session, tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("4\n")
    reader = tf.TextLineReader()
    queue = queue_of(session, tmp_path / "a", tmp_path / "b")
    keys, values = reader.read_up_to(queue, 2)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    assert session.run(values).tolist() == [b"1", b"2"]
    assert session.run(counts) == [2, 0]
    session.run(reader.reset())
    assert session.run(counts) == [0, 0]
    assert session.run(values).tolist() == [b"4"]
    assert keys.shape.as_list() == [None] and reader.read(queue).key.shape.as_list() == []


def test_the_state_of_a_reader_can_be_put_back(session):
    reader = tf.IdentityReader()
    queue = queue_of(session, "a", "b")
    session.run(reader.read(queue))
    state = session.run(reader.serialize_state())
    assert state == b'\x08\x01\x10\x01\x18\x01"\x01a' and reader.supports_serialize
    session.run(reader.reset())
    session.run(reader.restore_state(state))
    assert session.run(reader.num_records_produced()) == 1
    lines = tf.TextLineReader()
    assert not lines.supports_serialize
    with pytest.raises(tf.errors.UnimplementedError):
        session.run(lines.serialize_state())


def test_a_read_that_waits_for_names_ends_with_its_time(session, tmp_path):
    (tmp_path / "a").write_text("one")
    queue = tf.FIFOQueue(10, [tf.string], [[]])
    read = tf.TextLineReader().read(queue)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(read, options=tf.RunOptions(timeout_in_ms=50))
    session.run(queue.enqueue([str(tmp_path / "a")]))
    assert session.run(read).value == b"one"


def test_a_file_that_is_not_there_is_told_and_the_next_is_read(session, tmp_path):
    (tmp_path / "a").write_text("one")
    read = tf.TextLineReader().read(queue_of(session, tmp_path / "none", tmp_path / "a"))
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file"):
        session.run(read)
    assert session.run(read).value == b"one"

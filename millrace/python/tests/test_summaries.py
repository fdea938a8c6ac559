"""Summaries: the nodes, the messages, and files of events."""

import struct
import zlib

import numpy as np
import pytest

import millrace as tf

summary_iterator = tf.train.summary_iterator


def summary_of(session, node, feeds=None):
    return tf.Summary.FromString(session.run(node, feeds))


def events_in(folder):
    (path,) = folder.glob("events.out.tfevents.*")
    return list(summary_iterator(str(path)))


# ---- Nodes ---------------------------------------------------------------------------------------


def test_a_scalar_has_its_name_and_scopes_as_tag(session):
    with tf.name_scope("train"):
        node = tf.summary.scalar("loss", tf.constant(2.5))
    assert node.op.name == "train/loss" and node.op.type == "ScalarSummary"
    (value,) = summary_of(session, node).value
    assert (value.tag, value.simple_value) == ("train/loss", 2.5)
    assert value.WhichOneof("value") == "simple_value"


def test_a_zero_is_a_value(session):
    (value,) = summary_of(session, tf.summary.scalar("x", tf.constant(0))).value
    assert value.HasField("simple_value") and value.simple_value == 0


def test_what_no_node_may_be_called_is_replaced(session):
    (value,) = summary_of(session, tf.summary.scalar("my loss:0", 1.0)).value
    assert value.tag == "my_loss_0"


def test_a_family_stands_in_front_of_the_tag(session):
    with tf.name_scope("outer"):
        node = tf.summary.scalar("loss", 1.0, family="train")
    assert node.op.name == "outer/train/loss"
    assert summary_of(session, node).value[0].tag == "train/outer/train/loss"


def test_a_histogram_counts(session):
    node = tf.summary.histogram("h", tf.constant([1.0, 1.0, -2.0]))
    (value,) = summary_of(session, node).value
    histogram = value.histo
    assert (histogram.min, histogram.max, histogram.num) == (-2, 1, 3)
    assert (histogram.sum, histogram.sum_squares) == (0, 6)
    assert sum(histogram.bucket) == 3
    assert len(histogram.bucket) == len(histogram.bucket_limit)
    counts = {
        limit: count for limit, count in zip(histogram.bucket_limit, histogram.bucket) if count
    }
    below, above = sorted(counts)
    assert -2 < below < -1.8 and counts[below] == 1
    assert 1 < above < 1.1 and counts[above] == 2


def test_a_histogram_of_what_is_no_number_fails_with_the_nodes_name(session):
    node = tf.summary.histogram("weights", tf.constant([float("nan")]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Nan in summary histogram for: weights"
    ):
        session.run(node)


def pixels_of(png):
    """The pixels of a PNG of 8 bits and one row."""
    at, data, size = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            size = (height, width, {0: 1, 2: 3, 6: 4}[colour])
        if kind == b"IDAT":
            data += body
        at += 12 + length
    assert size[0] == 1
    method, *row = zlib.decompress(data)
    # What is above the first row is zero: filters add the pixel to the left, half of it, or nothing.
    share = {0: 0, 1: 1, 2: 0, 3: 0.5, 4: 1}[method]
    for i in range(size[2], len(row)):
        row[i] = (row[i] + int(row[i - size[2]] * share)) % 256
    return np.array(row).reshape(size)


def test_an_image_is_scaled_to_bytes(session):
    image = np.array([[[[0.0], [1.0], [2.0]]]], np.float32)
    node = tf.summary.image("picture", tf.constant(image))
    (value,) = summary_of(session, node).value
    assert value.tag == "picture/image/0"
    assert (value.image.height, value.image.width, value.image.colorspace) == (1, 3, 1)
    assert pixels_of(value.image.encoded_image_string).ravel().tolist() == [0, 127, 255]


def test_an_image_with_negative_values_has_zero_in_the_middle(session):
    image = np.array([[[[-1.0], [0.0], [0.5]]]], np.float64)
    node = tf.summary.image("p", tf.constant(image), max_outputs=1)
    (value,) = summary_of(session, node).value
    assert value.tag == "p/image"
    assert pixels_of(value.image.encoded_image_string).ravel().tolist() == [1, 128, 191]


def test_pixels_that_are_no_numbers_are_red(session):
    image = np.full((1, 1, 2, 3), 1.0, np.float32)
    image[0, 0, 1, 2] = np.inf
    (value,) = summary_of(session, tf.summary.image("p", tf.constant(image))).value
    assert pixels_of(value.image.encoded_image_string)[0].tolist() == [[255] * 3, [255, 0, 0]]


def test_a_sound_is_a_wav(session):
    sound = np.zeros((2, 5), np.float32)
    values = summary_of(session, tf.summary.audio("s", tf.constant(sound), 8000)).value
    assert [value.tag for value in values] == ["s/audio/0", "s/audio/1"]
    assert values[0].audio.sample_rate == 8000 and values[0].audio.length_frames == 5
    assert values[0].audio.encoded_audio_string[:4] == b"RIFF"


def test_text_is_a_tensor_that_says_how_to_show_it(session):
    (value,) = summary_of(session, tf.summary.text("t", tf.constant("hello"))).value
    assert value.metadata.plugin_data.plugin_name == "text"
    assert value.tensor.string_val == [b"hello"]
    with pytest.raises(ValueError, match="to have dtype string, got int32"):
        tf.summary.text("t", tf.constant(1))


def test_a_tensor_has_what_is_said_of_it(session):
    node = tf.summary.tensor_summary("t", tf.constant([1.0]), "a text", display_name="T")
    (value,) = summary_of(session, node).value
    assert (value.metadata.display_name, value.metadata.summary_description) == ("T", "a text")
    assert value.tensor.tensor_content == np.float32(1).tobytes()


def test_all_summaries_of_a_graph_are_merged(session):
    assert tf.summary.merge_all() is None
    tf.summary.scalar("a", 1.0)
    with tf.name_scope("inner"):
        tf.summary.scalar("b", 2.0)
    tf.summary.scalar("c", 3.0, collections=["mine"])
    merged = tf.summary.merge_all()
    assert merged.op.name == "Merge/MergeSummary"
    assert [value.tag for value in summary_of(session, merged).value] == ["a", "inner/b"]
    only = tf.summary.merge_all(scope="inner")
    assert [value.tag for value in summary_of(session, only).value] == ["inner/b"]
    mine = tf.summary.merge_all("mine")
    assert [value.tag for value in summary_of(session, mine).value] == ["c"]


def test_two_values_of_one_tag_are_not_merged(session):
    node = tf.summary.scalar("a", 1.0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Duplicate tag a found in summary inputs"
    ):
        session.run(tf.summary.merge([node, node]))


# ---- Messages ------------------------------------------------------------------------------------


def test_messages_are_what_was_written():
    summary = tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1.5)])
    summary.value.add(tag="b", simple_value=0)
    again = tf.Summary.FromString(summary.SerializeToString())
    assert again == summary
    assert [value.simple_value for value in again.value] == [1.5, 0]
    assert summary.SerializeToString() == b"\n\x08\n\x01a\x15\0\0\xc0?\n\x08\n\x01b\x15\0\0\0\0"


def test_a_histogram_is_written_in_one_piece():
    histogram = tf.HistogramProto(min=1, bucket_limit=[1.0, 2.0], bucket=[0.0, 3.0])
    data = histogram.SerializeToString()
    assert data == b"\x09" + struct.pack("<d", 1) + b"\x32\x10" + struct.pack(
        "<2d", 1, 2
    ) + b"\x3a\x10" + struct.pack("<2d", 0, 3)
    assert tf.HistogramProto.FromString(data) == histogram


# ---- Files ---------------------------------------------------------------------------------------


def test_a_writer_writes_what_it_is_given(tmp_path, session):
    node = tf.summary.scalar("loss", tf.constant(1.0))
    with tf.summary.FileWriter(str(tmp_path / "deep" / "logs"), session.graph) as writer:
        writer.add_summary(session.run(node), 3)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=2)]), 4)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 5)
        assert writer.get_logdir() == str(tmp_path / "deep" / "logs")
    events = events_in(tmp_path / "deep" / "logs")
    assert events[0].file_version == "brain.Event:2"
    nodes = tf.GraphDef.FromString(events[1].graph_def).node
    assert [each.name for each in nodes][-1] == "loss"
    assert [(e.step, v.tag, v.simple_value) for e in events for v in e.summary.value] == [
        (3, "loss", 1),
        (4, "x", 2),
    ]
    assert events[4].session_log.status == tf.SessionLog.START
    assert all(event.wall_time > 1e9 for event in events)


def test_events_wait_until_there_are_enough_or_flush_is_called(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), max_queue=3)
    step = tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=2)])
    seen = []
    for number in range(4):
        writer.add_summary(step, number)
        seen.append(len(events_in(tmp_path)) - 1)
    assert seen == [0, 0, 3, 3]
    writer.flush()
    assert len(events_in(tmp_path)) == 5
    writer.close()


def test_a_writer_that_is_closed_writes_nothing_until_it_is_opened_again(tmp_path, caplog):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    writer.add_summary(tf.Summary(), 1)
    writer.add_summary(tf.Summary(), 2)
    writer.flush()
    writer.close()
    assert len(events_in(tmp_path)) == 1
    warned = [record for record in caplog.records if "closed FileWriter" in record.getMessage()]
    assert len(warned) == 1
    writer.reopen()
    writer.add_summary(tf.Summary(), 3)
    writer.close()
    paths = sorted(tmp_path.glob("events*"))
    assert [event.step for path in paths for event in summary_iterator(str(path))][-1] == 3


def test_metadata_of_a_tag_is_written_once(tmp_path, session):
    message = session.run(tf.summary.text("t", tf.constant("hello")))
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(message, 1)
        writer.add_summary(message, 2)
    values = [value for event in events_in(tmp_path) for value in event.summary.value]
    assert [value.HasField("metadata") for value in values] == [True, False]
    assert values[1].tensor.string_val == [b"hello"]


def test_a_graph_is_given_once_and_in_one_form(tmp_path, graph):
    tf.constant(1, name="one")
    with tf.summary.FileWriter(str(tmp_path), graph_def=graph.as_graph_def()) as writer:
        with pytest.raises(ValueError, match="but not both"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            writer.add_graph("graph")
        with pytest.raises(ValueError):
            writer.add_graph(None)
    assert [
        node.name for node in tf.GraphDef.FromString(events_in(tmp_path)[1].graph_def).node
    ] == ["one"]


def test_a_disk_that_is_full_is_an_error(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    writer.reopen()
    writer._file._file.close()
    writer._file._file = open("/dev/full", "ab")
    writer.add_summary(tf.Summary(), 1)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="can't write events to '.*No space"):
        writer.flush()
    with pytest.raises(tf.errors.ResourceExhaustedError):
        writer.close()


def test_a_folder_that_can_not_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError, match="can't write events to"):
        tf.summary.FileWriter(str(tmp_path / "file" / "logs"))


def test_there_is_one_writer_per_folder_in_the_cache(tmp_path):
    writer = tf.summary.FileWriterCache.get(str(tmp_path))
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is writer
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is not writer
    tf.summary.FileWriterCache.clear()


def test_a_damaged_file_is_an_error(tmp_path):
    tf.summary.FileWriter(str(tmp_path)).close()
    (path,) = tmp_path.glob("events*")
    data = bytearray(path.read_bytes())
    data[14] ^= 1
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        list(summary_iterator(str(path)))
    with pytest.raises(tf.errors.NotFoundError):
        list(summary_iterator(str(tmp_path / "none")))

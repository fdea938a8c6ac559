"""Examples as programs write and read them; hostile bytes are tested beside the C++."""

import numpy as np
import pytest

import millrace as tf


def feature(*values):
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features))


def test_an_example_comes_back_from_its_bytes():
    made = example(a=feature(1, -2, 2**62), b=feature(b"x", b""), c=feature(0.5, -1.0))
    read = tf.train.Example.FromString(made.SerializeToString())
    assert read == made
    assert list(read.features.feature["a"].int64_list.value) == [1, -2, 2**62]
    assert list(read.features.feature["b"].bytes_list.value) == [b"x", b""]
    assert list(read.features.feature["c"].float_list.value) == [0.5, -1.0]
    assert read.features.feature["c"].WhichOneof("kind") == "float_list"


def test_the_bytes_are_protobufs():
    made = example(a=feature(1, 300))
    assert made.SerializeToString() == b"\n\x0e\n\x0c\n\x01a\x12\x07\x1a\x05\n\x03\x01\xac\x02"
    assert tf.train.Example().SerializeToString() == b""


def test_messages_are_filled_in_place():
    made = tf.train.Example()
    made.features.feature["a"].int64_list.value.append(7)
    made.features.feature["b"].float_list.value.extend([1, 2])
    assert sorted(made.features.feature) == ["a", "b"]
    steps = tf.train.SequenceExample()
    steps.feature_lists.feature_list["s"].feature.add().int64_list.value.append(1)
    read = tf.train.SequenceExample.FromString(steps.SerializeToString())
    assert len(read.feature_lists.feature_list["s"].feature) == 1


def test_values_of_other_types_and_bytes_that_are_no_message_are_refused():
    with pytest.raises(TypeError, match="expected one of: bytes"):
        tf.train.BytesList(value=["text"])
    with pytest.raises(TypeError, match="expected one of: int"):
        tf.train.Int64List(value=[1.5])
    with pytest.raises(ValueError, match="no .other. field"):
        tf.train.Example(other=1)
    with pytest.raises(ValueError, match="Error parsing message"):
        tf.train.Example.FromString(b"\x0a\x05\x0a")


def test_a_batch_becomes_tensors(session):
    batch = [
        example(n=feature(1), x=feature(0.5, 1.5), tags=feature(b"a", b"b")),
        example(n=feature(2), x=feature(2.5, 3.5)),
    ]
    parsed = tf.parse_example(
        [each.SerializeToString() for each in batch],
        {
            "n": tf.FixedLenFeature([], tf.int64),
            "x": tf.FixedLenFeature([2], tf.float32),
            "tags": tf.VarLenFeature(tf.string),
            "none": tf.FixedLenFeature([1], tf.float32, default_value=[9.0]),
        },
    )
    assert parsed["x"].shape.as_list() == [2, 2]
    values = session.run(parsed)
    assert values["n"].tolist() == [1, 2]
    assert values["x"].tolist() == [[0.5, 1.5], [2.5, 3.5]]
    assert values["none"].tolist() == [[9.0], [9.0]]
    assert values["tags"].indices.tolist() == [[0, 0], [0, 1]]
    assert values["tags"].values.tolist() == [b"a", b"b"]
    assert values["tags"].dense_shape.tolist() == [2, 2]


def test_steps_are_padded_to_the_longest(session):
    batch = [example(x=feature(1, 2, 3)).SerializeToString(), example().SerializeToString()]
    spec = tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1)
    parsed = tf.parse_example(batch, {"x": spec})["x"]
    assert session.run(parsed).tolist() == [[1, 2, 3], [-1, -1, -1]]


def test_one_example_is_parsed_as_it_is_read(session):
    message = tf.placeholder(tf.string, [])
    spec = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_single_example(message, spec)
    pixels = tf.decode_raw(parsed["image"], tf.uint8)
    made = example(image=feature(b"\x01\xff"), label=feature(3)).SerializeToString()
    label, values = session.run([parsed["label"], pixels], {message: made})
    assert label == 3 and values.tolist() == [1, 255]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature: image .*required"):
        session.run(pixels, {message: example(label=feature(3)).SerializeToString()})


def test_a_sequence_has_a_context_and_steps(session):
    made = tf.train.SequenceExample()
    made.context.feature["length"].int64_list.value.append(2)
    for step in (1, 2):
        made.feature_lists.feature_list["x"].feature.add().float_list.value.append(step)
        made.feature_lists.feature_list["words"].feature.add().bytes_list.value.append(b"w")
    context, steps = tf.parse_single_sequence_example(
        made.SerializeToString(),
        {"length": tf.FixedLenFeature([], tf.int64)},
        {"x": tf.FixedLenSequenceFeature([1], tf.float32), "words": tf.VarLenFeature(tf.string)},
    )
    assert session.run(context["length"]) == 2
    assert session.run(steps["x"]).tolist() == [[1.0], [2.0]]
    assert session.run(steps["words"]).dense_shape.tolist() == [2, 1]


def test_records_become_columns(session):
    columns = tf.decode_csv(["1,a,0.5", "2,,"], [[0], [""], [7.0]])
    numbers, words, reals = session.run(columns)
    assert numbers.tolist() == [1, 2]
    assert words.tolist() == [b"a", b""]
    np.testing.assert_array_equal(reals, np.float32([0.5, 7.0]))


def test_features_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="Missing type"):
        tf.parse_single_example("", {"a": tf.VarLenFeature(None)})
    with pytest.raises(ValueError, match="allow_missing"):
        tf.parse_example([""], {"a": tf.FixedLenSequenceFeature([], tf.int64)})
    with pytest.raises(ValueError, match="Invalid feature"):
        tf.parse_example([""], {"a": 3})


def test_tensors_are_written_and_read(session):
    tensor = tf.constant([[1.0, 2.0]])
    assert session.run(tf.parse_tensor(tf.serialize_tensor(tensor), tf.float32)).tolist() == [
        [1, 2]
    ]


def test_places_and_values_under_two_keys_become_one_sparse_tensor(session):
    batch = [
        example(at=feature(3, 1), of=feature(0.5, 1.5)).SerializeToString(),
        example(at=feature(0), of=feature(2.0)).SerializeToString(),
    ]
    features = {"s": tf.SparseFeature("at", "of", tf.float32, 4)}
    found = session.run(tf.parse_example(batch, features))
    assert list(found) == ["s"]
    assert found["s"].indices.tolist() == [[0, 1], [0, 3], [1, 0]]
    assert found["s"].values.tolist() == [1.5, 0.5, 2.0]
    assert found["s"].dense_shape.tolist() == [2, 4]
    features["at"] = tf.VarLenFeature(tf.int64)
    alone = session.run(tf.io.parse_single_example(batch[0], features))
    assert sorted(alone) == ["at", "s"] and alone["at"].values.tolist() == [3, 1]
    assert alone["s"].dense_shape.tolist() == [4]


def test_places_in_several_axes_are_as_many_keys(session):
    bytes_of = example(y=feature(1), x=feature(2), of=feature(7)).SerializeToString()
    wanted = {"s": tf.io.SparseFeature(["y", "x"], "of", tf.int64, [3, 4], already_sorted=True)}
    found = session.run(tf.parse_example([bytes_of], wanted))["s"]
    assert found.indices.tolist() == [[0, 1, 2]] and found.dense_shape.tolist() == [1, 3, 4]
    with pytest.raises(ValueError, match="Conflicting type int64 vs float32 for feature y"):
        wanted["t"] = tf.io.SparseFeature("x", "y", tf.float32, 4)
        tf.parse_example([bytes_of], wanted)


def test_a_batch_of_sequences_is_filled_up_to_the_longest(session):
    rows = []
    for label, steps in ((1, [1.0, 2.0]), (2, [3.0])):
        made = tf.train.SequenceExample()
        made.context.feature["label"].int64_list.value.append(label)
        for step in steps:
            made.feature_lists.feature_list["x"].feature.add().float_list.value.append(step)
            made.feature_lists.feature_list["w"].feature.add().bytes_list.value.append(b"w")
        rows.append(made.SerializeToString())
    context, steps, lengths = session.run(
        tf.io.parse_sequence_example(
            rows,
            context_features={"label": tf.io.FixedLenFeature([], tf.int64)},
            sequence_features={
                "x": tf.io.FixedLenSequenceFeature([], tf.float32),
                "w": tf.io.VarLenFeature(tf.string),
            },
        )
    )
    assert context["label"].tolist() == [1, 2]
    assert steps["x"].tolist() == [[1.0, 2.0], [3.0, 0.0]]
    assert steps["w"].dense_shape[0] == 2 and len(steps["w"].values) == 3
    assert lengths["x"].tolist() == [2, 1]
    with pytest.raises(ValueError, match="Missing"):
        tf.io.parse_sequence_example(rows)

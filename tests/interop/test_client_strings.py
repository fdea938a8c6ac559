"""String tensors: any bytes, any lengths, any number, through every way that a tensor takes."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

# Lengths around those where a varint grows, and bytes that are no text.
LENGTHS = [0, 1, 127, 128, 255, 256, 16383, 16384, 100_000]
STRINGS = np.array(
    [bytes((i * 37 + k) % 256 for k in range(n)) for i, n in enumerate(LENGTHS)], object
)


def test_strings_of_any_bytes_return_as_they_were_fed(target, graph):
    x = tf1.placeholder(tf.string, [None])
    with tf1.Session(target) as session:
        got = session.run([tf.identity(x), tf.strings.length(x)], {x: STRINGS})
    assert got[0].tolist() == STRINGS.tolist()
    assert got[1].tolist() == LENGTHS


def test_strings_cross_tasks(cluster, graph):
    three = cluster(here=1, there=2)
    x = tf1.placeholder(tf.string, [3, 3])
    y = x
    for task in ["/job:there/task:0", "/job:there/task:1", "/job:here/task:0"]:
        with tf.device(task):
            y = tf.identity(y)
    with tf1.Session(three.target("here")) as session:
        assert session.run(y, {x: STRINGS.reshape(3, 3)}).tolist() == STRINGS.reshape(3, 3).tolist()


def test_a_hundred_thousand_short_strings_keep_their_order(target, graph):
    words = np.array([str(i).encode() for i in range(100_000)], object)
    x = tf1.placeholder(tf.string, [None])
    with tf1.Session(target) as session:
        got = session.run(tf.reverse(x, [0]), {x: words})
    assert got.tolist() == words[::-1].tolist()


def test_one_string_of_ten_megabytes(target, graph):
    x = tf1.placeholder(tf.string, [])
    text = bytes(range(256)) * 40_000
    with tf1.Session(target) as session:
        joined, length = session.run([tf.strings.join([x, "!"]), tf.strings.length(x)], {x: text})
    assert length == len(text)
    assert joined == text + b"!"


def test_no_strings_at_all_still_have_a_shape(target, graph):
    x = tf1.placeholder(tf.string, [None, 2])
    with tf1.Session(target) as session:
        got = session.run(tf.identity(x), {x: np.empty([0, 2], object)})
    assert got.shape == (0, 2)


def test_text_of_every_script_is_utf8_on_the_way(target, graph):
    text = ["na\u00efve", "\u65e5\u672c\u8a9e", "\U0001f600", ""]
    x = tf1.placeholder(tf.string, [None])
    with tf1.Session(target) as session:
        got = session.run(tf.identity(x), {x: text})
    assert [each.decode() for each in got] == text


def test_strings_become_numbers_and_back(target, graph):
    x = tf1.placeholder(tf.string, [None])
    with tf1.Session(target) as session:
        numbers = session.run(tf.strings.to_number(x, tf.int64), {x: ["12", "-7", "0"]})
        texts = session.run(
            tf.strings.as_string(tf.strings.to_number(x, tf.int32)), {x: ["5", "-6"]}
        )
    assert numbers.tolist() == [12, -7, 0]
    assert texts.tolist() == [b"5", b"-6"]


def test_a_string_that_is_no_number_is_named_in_the_error(target, graph):
    x = tf1.placeholder(tf.string, [None])
    number = tf.strings.to_number(x, tf.int32, name="number")
    with tf1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="twelve") as raised:
            session.run(number, {x: ["12", "twelve"]})
    assert raised.value.op.name == "number"


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_holds_strings(target, graph, use_resource):
    v = tf1.Variable([b"a", b"b"], use_resource=use_resource)
    x = tf1.placeholder(tf.string, [2])
    change = v.assign(x)
    with tf1.Session(target) as session:
        session.run(v.initializer)
        session.run(change, {x: STRINGS[-2:]})
        assert session.run(v).tolist() == STRINGS[-2:].tolist()

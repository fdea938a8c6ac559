"""B24: records read from files, and Examples parsed, in one process."""

import os
import tempfile

import numpy as np

from measure import Figure, Limit, gigabytes_per_second, thousands_per_second

TITLE = "B24 records"
MB = 1_000_000
BATCH = 100


def tasks(scale):
    return 0


def count(scale):
    return scale.pick(quick=1000, normal=50_000)


def record(chance, size=1000):
    """Half of it compresses."""
    return chance.bytes(size // 2) + bytes(size - size // 2)


def example(tf, chance):
    def numbers(values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    words = [b"word%d" % each for each in chance.randint(1000, size=5)]
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[chance.randint(9)])),
                "values": numbers(chance.normal(size=64)),
                "weight": numbers([1.0]),
                "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
            }
        )
    ).SerializeToString()


def write(tf, path, records, compression):
    kinds = tf.python_io.TFRecordCompressionType
    options = tf.python_io.TFRecordOptions(getattr(kinds, compression or "NONE"))
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for each in records:
            writer.write(each)


def figures(tf, cluster, scale):
    chance = np.random.RandomState(0)
    records = [record(chance) for _ in range(count(scale))]
    session = tf.Session()
    for name, compression in (("plain", ""), ("gzip", "GZIP")):
        path = os.path.join(tempfile.gettempdir(), f"{cluster.cell}_{name}")
        write(tf, path, records, compression)
        batches = tf.data.TFRecordDataset(path, compression).repeat().batch(BATCH)
        following = batches.make_one_shot_iterator().get_next()
        read = session.make_callable(following.op)
        yield Figure(
            f"records of 1 kB, {name}, {BATCH} a step", "k/s", thousands_per_second(BATCH, read)
        )
    features = {
        "label": tf.FixedLenFeature([], tf.int64),
        "values": tf.FixedLenFeature([64], tf.float32),
        "weight": tf.FixedLenFeature([], tf.float32, 0.0),
        "words": tf.VarLenFeature(tf.string),
    }
    for batch in (1, 32, 256):
        some = np.array([example(tf, chance) for _ in range(batch)], object)
        given = tf.placeholder(tf.string, [batch])
        parsed = tf.parse_example(given, features)
        # The op that parses itself: of a group of its outputs TensorFlow's optimizer leaves nothing.
        parse = session.make_callable(parsed["values"].op, feed_list=[given])
        yield Figure(
            f"Examples of 4 features parsed, {batch} a step",
            "k/s",
            thousands_per_second(batch, lambda parse=parse, some=some: parse(some)),
        )


def limits(scale):
    path = os.path.join(tempfile.gettempdir(), "limit")
    with open(path, "wb") as file:
        file.write(bytes(50 * MB))

    def read():
        with open(path, "rb") as file:
            while file.read(MB):
                pass

    # A record of 1 kB is a thousandth of a megabyte.
    plain = f"records of 1 kB, plain, {BATCH} a step"
    bound = gigabytes_per_second(50 * MB, read)
    yield Limit(plain, "a file read", lambda seconds: bound(seconds) * 1000)

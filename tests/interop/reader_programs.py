"""Readers of files, the same text for TensorFlow and Millrace.

`python3 reader_programs.py tensorflow` (or `millrace`) FOLDER READER reads what `write` put in FOLDER and prints a
JSON object: of each program what it gives. With `write` for READER it writes the files instead.
Run by test_readers_beside_tensorflow.py.
"""

import gzip
import json
import os
import sys
import zlib

from programs import module_named

RECORDS = [b"one", b"", b"x" * 5000, b"\xff\x00"]
PACKINGS = ["NONE", "ZLIB", "GZIP"]


def options_of(tf, packing):
    kinds = tf.python_io.TFRecordCompressionType
    return tf.python_io.TFRecordOptions(getattr(kinds, packing))


def write(tf, folder):
    """Files of records by the library's writer, whole and harmed, and others of lines and bytes."""
    for packing in PACKINGS:
        file = os.path.join(folder, "records." + packing)
        with tf.python_io.TFRecordWriter(file, options_of(tf, packing)) as writer:
            for record in RECORDS:
                writer.write(record)
    with open(os.path.join(folder, "records.NONE"), "rb") as file:
        whole = file.read()
    harmed = {
        "cut": whole[:-1],
        "cut in a head": whole[:25],
        "wrong data": whole[:13] + b"X" + whole[14:],
        "wrong length": b"\x09" + whole[1:],
        "cut ZLIB": zlib.compress(whole)[:-8],
        "twice ZLIB": zlib.compress(whole) * 2,
    }
    bytes_ = b"HHabcdefghiFF"
    texts = {
        "lines": b"h\na\r\n\nb",
        "empty": b"",
        "bytes": bytes_,
        "b.ZLIB": zlib.compress(bytes_),
    }
    for name, data in {**harmed, **texts, "b.GZIP": gzip.compress(bytes_)}.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def told(tf, session, read):
    try:
        key, value = session.run(read)
    except tf.errors.OpError as error:
        return type(error).__name__
    if isinstance(key, bytes):
        return [os.path.basename(key.decode()), value.decode("latin-1")]
    return [os.path.basename(each.decode()) for each in key]


def drained(tf, reader, folder, names, steps=8, at_once=None):
    """What each of some steps gives, and what was counted in between."""
    with tf.Session() as session:
        queue = tf.FIFOQueue(10, [tf.string], [[]])
        session.run(queue.enqueue_many([[os.path.join(folder, name) for name in names]]))
        session.run(queue.close())
        read = reader.read(queue) if at_once is None else reader.read_up_to(queue, at_once)
        counts = [reader.num_records_produced(), reader.num_work_units_completed()]
        results = []
        for _ in range(steps):
            results.append(told(tf, session, read))
            results.append([int(count) for count in session.run(counts)])
        session.run(reader.reset())
        return results + [[int(count) for count in session.run(counts)]]


def programs(tf, folder):
    def lines(**kwargs):
        return tf.TextLineReader(**kwargs)

    def records(packing="NONE"):
        return tf.TFRecordReader(options=options_of(tf, packing))

    def fixed(**kwargs):
        return tf.FixedLengthRecordReader(**{"header_bytes": 2, "footer_bytes": 2, **kwargs})

    made = {
        "lines": (lines, {}, ["lines", "empty", "lines"]),
        "lines without heads": (lines, {"skip_header_lines": 1}, ["lines", "empty", "lines"]),
        "lines of nothing": (lines, {}, ["none", "lines"]),
        "whole": (tf.WholeFileReader, {}, ["lines", "empty"]),
        "itself": (tf.IdentityReader, {}, ["a", "b"]),
        "fixed": (fixed, {"record_bytes": 3}, ["bytes"]),
        "fixed with a rest": (fixed, {"record_bytes": 4}, ["bytes", "bytes"]),
        "short hops": (fixed, {"record_bytes": 3, "hop_bytes": 2}, ["bytes"]),
        "long hops": (fixed, {"record_bytes": 3, "hop_bytes": 5}, ["bytes"]),
        "long head": (fixed, {"record_bytes": 3, "header_bytes": 50}, ["bytes", "empty"]),
        "fixed ZLIB": (fixed, {"record_bytes": 3, "encoding": "ZLIB"}, ["b.ZLIB"]),
        "fixed GZIP": (fixed, {"record_bytes": 3, "encoding": "GZIP"}, ["b.GZIP"]),
    }
    for packing in PACKINGS:
        made[packing] = (records, {"packing": packing}, ["records." + packing] * 2)
    for name in ("cut", "cut in a head", "wrong data", "wrong length", "cut ZLIB", "twice ZLIB"):
        packing = "ZLIB" if name.endswith("ZLIB") else "NONE"
        made[name] = (records, {"packing": packing}, [name])
    results = {}
    for name, (kind, arguments, files) in made.items():
        with tf.Graph().as_default():
            results[name] = drained(tf, kind(**arguments), folder, files)
    with tf.Graph().as_default():
        results["three lines at once"] = drained(tf, lines(), folder, ["lines"] * 2, 5, 3)
    with tf.Graph().as_default():
        results["three records at once"] = drained(tf, records(), folder, ["records.NONE"], 3, 3)
    return results


def main():
    module, folder, task = sys.argv[1:]
    tf = module_named(module)
    if task == "write":
        return write(tf, folder)
    print(json.dumps(programs(tf, folder)))


if __name__ == "__main__":
    main()

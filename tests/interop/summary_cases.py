"""Summaries: of numbers, images, sounds and tensors, and several put together. They are compared byte by byte."""

import numpy as np

from cases import ANY, FLOATS, REAL, Row, rows_of

WORDS = [b"a", b"b/c", b"", b"\xc3\xa4"]


def tag(m, shape=()):
    """A tag; now and then a vector of one, which is none."""
    words = m.rng.integers(0, len(WORDS), (1,) if m.one_in(12) else shape)
    return texts(np.vectorize(WORDS.__getitem__, otypes=[object])(words))


def texts(values):
    return "string", np.asarray(values, object)


def numbers(m):
    shape = m.shape(ranks=(0, 1, 2))
    tags = tag(m, (*shape, 1) if m.one_in(12) else shape)
    return {"tags": tags, "values": m.values(shape)}, {}


def histogram(m):
    dtype, values = m.values(m.shape(ranks=(0, 1, 2), most=6), -90, 90)
    if "float" in m.dtype and values.size and m.one_in(8):
        values.flat[0] = m.choice([np.nan, np.inf])
    return {"tag": tag(m), "values": (dtype, values)}, {}


def images(m):
    """Bytes as they are, floats scaled; channels of which there may be too many."""
    shape = [
        *m.shape(ranks=(3,), most=4, least=1),
        m.choice([1, 3, 4, 2] if m.one_in(4) else [1, 3]),
    ]
    if m.one_in(12):
        shape = shape[1:]
    low = m.choice([0, -9])
    dtype, values = m.values(tuple(shape), low, 200 if m.dtype == "uint8" else 9)
    if "float" in m.dtype and m.one_in(6):
        values.flat[0] = m.choice([np.nan, np.inf])
    return {"tag": tag(m), "tensor": (dtype, values)}, {"max_images": int(m.choice([1, 2, 3]))}


def sound(m):
    shape = m.shape(ranks=(2, 3), most=4, least=1)
    if m.one_in(12):
        shape = shape[:1]
    return {"tag": tag(m), "tensor": m.values(shape, -1.2, 1.2)}, {
        "sample_rate": float(m.choice([1, 44100, 44100.4])),
        "max_outputs": int(m.choice([1, 2, 3])),
    }


def sound_v2(m):
    given, attrs = sound(m)
    rate = np.asarray(attrs.pop("sample_rate"), "float32")
    if m.one_in(12):
        rate = rate.reshape(1) if m.one_in(2) else np.asarray(-1, "float32")
    return {**given, "sample_rate": ("float32", rate)}, attrs


def tensor(m):
    attrs = {"description": "text", "labels": ["one", "two"][: m.rng.integers(3)]}
    return {"tensor": m.values()}, {**attrs, "display_name": m.choice(["", "name"])}


def tensor_v2(m):
    # The name of a plugin, in its metadata; now and then no message at all.
    told = b"\xff" if m.one_in(12) else m.choice([b"", b"\x0a\x05\x0a\x03abc", b"\x12\x01d"])
    return {
        "tag": tag(m),
        "tensor": m.values(),
        "serialized_summary_metadata": texts(told),
    }, {}


def value(name, number):
    """A summary of one number, as its bytes."""
    held = b"\x0a" + bytes([len(name)]) + name + b"\x15" + np.float32(number).tobytes()
    return b"\x0a" + bytes([len(held)]) + held


def merged(m):
    """Of different tags; now and then of one twice, or of bytes that are no summary."""
    parts = []
    for number in range(int(m.rng.integers(1, 4))):
        kept = [value(b"t%d%d" % (number, i), i) for i in range(int(m.rng.integers(0, 3)))]
        if m.one_in(12):
            kept = [b"\xff"]
        if m.one_in(12):
            kept = [value(b"same", 1)] * 2
        parts.append(texts(b"".join(kept) if m.one_in(2) else kept))
    return {"inputs": parts}, {}


TABLE = [
    Row("ScalarSummary", REAL, numbers),
    Row("HistogramSummary", REAL, histogram),
    Row("ImageSummary", ["uint8", "float32", "float16", "float64"], images),
    Row("AudioSummary", ["float32"], sound),
    Row("AudioSummaryV2", ["float32"], sound_v2),
    Row("TensorSummary", [*ANY, *FLOATS], tensor),
    Row("TensorSummaryV2", [*ANY, *FLOATS], tensor_v2),
    *rows_of("MergeSummary", ["string"], merged),
]

"""Rows of rows.py for texts in any charset, whole and broken, and for animations."""

import struct

import numpy as np

ERRORS = ["strict", "replace", "ignore"]
WRITTEN = ["UTF-8", "UTF-16-BE", "UTF-32-BE"]
READ = [*WRITTEN, "UTF-16", "UTF-16-LE", "UTF-32", "UTF-32LE", "utf8", "US-ASCII", "ISO-8859-1"]
MARKED = ["UTF-16", "UTF-32"]
# The machine's, of which both have the same characters.
OTHERS = ["koi8-r", "windows-1252", "iso-8859-7", "ibm-37"]
# Of one to four bytes in UTF-8, with controls, marks, what no character is and what has no other case.
CHARACTERS = "aZ \0\x1f\x7f\u0080\u00df\u00e4\u0130\u03a3\u03c3\u0301\u05d0\u0645\u20ac\u4e2d\ud7a3\ufb01\ufeff\uffff"
CHARACTERS += "\U0001f600\U00010428\U0010ffff"
# Code points of which Unicode 13, TensorFlow's, and 14, ours, say the same.
SAME_SCRIPTS = [
    (-5, 0x600),
    (0x1E00, 0x2000),
    (0x3041, 0x3097),
    (0x4E00, 0x9FF0),
    (0xD7A0, 0xD800),
    (0xD800, 0xE000),
    (0x10000, 0x10100),
    (0x1F600, 0x1F640),
    (0x10FFF0, 0x110010),
]
# Beginnings, ends and halves of characters.
BROKEN = [
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xf4\x90",
    b"\xd8\x00",
    b"\x00\xdc",
    b"\x00",
]


def flag(m):
    return bool(m.one_in(2))


def text(m, encoding):
    """Bytes that are mostly of the encoding."""
    known = encoding if encoding in WRITTEN or encoding.upper() in READ else "UTF-8"
    try:
        parts = [m.choice(CHARACTERS).encode(known) for _ in range(m.rng.integers(6))]
    except UnicodeEncodeError:
        parts = [m.rng.bytes(int(m.rng.integers(6)))]
    if m.one_in(2):
        parts.insert(int(m.rng.integers(len(parts) + 1)), m.choice(BROKEN))
    return b"".join(parts)


def texts(m, encoding, shape=None):
    shape = m.shape(ranks=(0, 1, 2)) if shape is None else shape
    made = np.empty(int(np.prod(shape)), object)
    made[:] = [text(m, encoding) for _ in range(made.size)]
    return "string", made.reshape(shape)


def repair(m):
    return {
        "errors": m.choice(ERRORS),
        "replacement_char": m.choice([0xFFFD, 0xFFFD, 63, 0x1F600, 0xD800, 0x10FFFF, -1, 0x110000]),
    }


def decode(m):
    encoding = m.choice(READ + OTHERS)
    attrs = {"input_encoding": encoding, **repair(m), "replace_control_characters": flag(m)}
    if m.one_in(20):
        attrs["input_encoding"] = "none of all"
    # In TensorFlow the byte order of one text is that of all behind it, too: docs/interop.md.
    return {"input": texts(m, encoding, () if encoding in MARKED else None)}, attrs


def transcode(m):
    inputs, attrs = decode(m)
    return inputs, {**attrs, "output_encoding": m.choice(WRITTEN)}


def encode(m):
    rows = m.rng.integers(0, 4, int(m.rng.integers(0, 4)))
    splits = [0, *np.cumsum(rows).tolist()]
    numbers = [ord(m.choice(CHARACTERS)) for _ in range(splits[-1])]
    if m.one_in(3):
        numbers = [m.choice([-1, 0xD800, 0xDFFF, 0x110000, 2**31 - 1, 97]) for _ in numbers]
    if m.one_in(8):
        splits = m.rng.integers(-1, 5, 4).tolist()
    inputs = {"input_values": m.integers(numbers), "input_splits": m.integers(splits, "int64")}
    return inputs, {"output_encoding": m.choice(WRITTEN), **repair(m)}


def scripts(m):
    low, high = m.choice(SAME_SCRIPTS)
    return {"input": m.integers(m.rng.integers(low, high, m.shape()))}, {}


def letters(m):
    # An embedded zero ends a text in TensorFlow, which is told in docs/interop.md.
    inputs = {"input": texts(m, "UTF-8")}
    kept = [each.replace(b"\0", b"") for each in inputs["input"][1].ravel()]
    made = np.empty(len(kept), object)
    made[:] = kept
    return {"input": ("string", made.reshape(inputs["input"][1].shape))}, {"encoding": "utf-8"}


# --- GIF ---


def packed(places, bits):
    """Places of colours as codes of bits + 1 bits: the table is forgotten before it grows over that."""
    clear, number, count, made = 1 << bits, 0, 0, bytearray()

    def put(code):
        nonlocal number, count
        number |= code << count
        count += bits + 1
        while count >= 8:
            made.append(number & 255)
            number >>= 8
            count -= 8

    for i, place in enumerate(places):
        if i % (clear - 2) == 0:
            put(clear)
        put(int(place))
    put(clear + 1)
    made.append(number & 255)
    pieces = [bytes(made[i : i + 255]) for i in range(0, len(made), 255)]
    return bytes([bits]) + b"".join(bytes([len(p)]) + p for p in pieces) + b"\0"


def frame(m):
    height, width = (int(n) for n in m.rng.integers(1, 6, 2))
    made = b""
    if m.one_in(2):
        made += b"\x21\xf9\x04" + bytes([m.choice([0, 1, 5, 9, 13]), 0, 0, m.choice([0, 1, 3]), 0])
    flags = 0x40 if m.one_in(4) else 0
    colors = m.rng.bytes(12) if m.one_in(4) else b""
    if colors:
        flags |= 0x81
    left, top = (int(n) for n in m.rng.integers(0, 3, 2))
    made += b"," + struct.pack("<HHHHB", left, top, width, height, flags) + colors
    return made + packed(m.rng.integers(0, 4, height * width), 2)


def gif(m):
    colors = m.rng.bytes(12)
    made = b"GIF89a" + struct.pack("<HHBBB", 4, 4, 0x81, 0, 0) + colors
    made += b"".join(frame(m) for _ in range(m.rng.integers(0, 4))) + b";"
    if m.one_in(3):
        made = made[: m.rng.integers(len(made) + 1)]
    if m.one_in(4):
        # Not the first bytes, which say that it is one.
        at = 6 + int(m.rng.integers(max(len(made) - 6, 1)))
        made = made[:at] + m.rng.bytes(1) + made[at + 1 :]
    return "string", np.asarray(made, object)


def animation(m):
    return {"contents": gif(m)}, {}


def any_image(m):
    return {"contents": gif(m)}, {"expand_animations": flag(m), "channels": m.choice([0, 3, 4])}


TABLE = [
    ("UnicodeDecode", ["string"], decode),
    ("UnicodeDecodeWithOffsets", ["string"], decode),
    ("UnicodeTranscode", ["string"], transcode),
    ("UnicodeEncode", ["string"], encode),
    ("UnicodeScript", ["int32"], scripts),
    ("StringLower", ["string"], letters),
    ("StringUpper", ["string"], letters),
    ("DecodeGif", ["string"], animation),
    ("DecodeImage", ["string"], any_image),
]

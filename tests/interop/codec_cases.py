"""Rows of rows.py for images as bytes that no op of TensorFlow writes: BMP, and PNG in all its kinds."""

import struct
import zlib

import numpy as np

KINDS = {0: (1, [1, 2, 4, 8, 16]), 2: (3, [8, 16]), 3: (1, [1, 2, 4, 8]), 4: (2, [8, 16])}
KINDS[6] = (4, [8, 16])


def text(value):
    made = np.empty((), object)
    made[()] = value
    return "string", made


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def transparent(m, kind):
    """What is not seen: a colour, or of each colour of a palette how much."""
    if kind == 3:
        return chunk(b"tRNS", m.rng.bytes(int(m.rng.integers(1, 5))))
    return chunk(b"tRNS", struct.pack(">HHH", 1, 1, 1)[: 2 * KINDS[kind][0]])


def png(m):
    kind = m.choice([0, 2, 3, 4, 6])
    samples, depths = KINDS[kind]
    depth = m.choice(depths)
    width, height = (int(n) for n in m.rng.integers(1, 9, 2))
    row = (width * samples * depth + 7) // 8
    rows = b"".join(bytes([m.rng.integers(5)]) + m.rng.bytes(row) for _ in range(height))
    parts = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))]
    if kind == 3:
        parts.append(chunk(b"PLTE", m.rng.bytes(3 << depth)))
    has_alpha = depth >= 8
    if kind in (0, 2, 3) and m.one_in(3):
        has_alpha = True
        parts.append(transparent(m, kind))
    if m.one_in(6):
        parts.append(chunk(b"gAMA", struct.pack(">I", 45455)))
    parts += [chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    made = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    if m.one_in(8):
        made = made[: m.rng.integers(len(made))]
    return made, has_alpha


def read_png(m):
    made, has_alpha = png(m)
    # Where it makes alpha of fewer than 8 bits, TensorFlow's is next to nothing.
    asked = m.choice([0, 0, 1, 3, 4 if has_alpha else 3])
    return {"contents": text(made)}, {"channels": asked, "dtype": m.choice(["uint8", "uint16"])}


def bmp(m):
    channels = m.choice([1, 3, 4])
    width, height = (int(n) for n in m.rng.integers(1, 6, 2))
    row = (width * channels + 3) // 4 * 4
    offset = m.choice([54, 54, 60])
    upright = m.choice([1, -1])
    pixels = m.rng.bytes(row * height - m.choice([0] * 12 + [1, 9]))
    made = b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset)
    made += struct.pack("<IiiHHIIIIII", 40, width, upright * height, 1, 8 * channels, *[0] * 6)
    made = made.ljust(offset, b"\0") + pixels
    if m.one_in(8):
        made = made[: m.rng.integers(len(made))]
    return made, channels


def read_bmp(m):
    made, channels = bmp(m)
    asked = m.choice([0, channels if channels > 1 else 0, m.choice([1, 3, 4, 2])])
    return {"contents": text(made)}, {"channels": asked}


TABLE = [("DecodePng", ["string"], read_png), ("DecodeBmp", ["string"], read_bmp)]

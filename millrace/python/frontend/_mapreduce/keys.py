"""Keys as bytes, whose order is that of the keys, and which say the same in every process.

    None 01 | False, True 02 | ints 03 | floats 04 | bytes 05 | str 06 | tuples 07

The first byte tells the type, so keys of several types are sorted by type first, and 1, 1.0 and True are
three keys. Then:

    int     80 + number of bytes, then those, largest first; below 0: 80 - number, the complement
    float   8 bytes, largest first; the sign turned, and all of them if it is below 0
    bytes   as they are; str as UTF-8. Inside of a tuple, 00 is 00 ff, and 00 ends it
    tuple   its items, then 00
"""

import operator
import struct
import zlib

_NONE, _BOOL, _INT, _FLOAT, _BYTES, _STR, _TUPLE = range(1, 8)
_LONGEST_INT = 120  # bytes
_END = b"\0"

KINDS = "None, bool, int, float, bytes, str, or a tuple of these"


def encode(key):
    """The bytes of a key. TypeError or ValueError for what can't be one."""
    if type(key) is str:
        return b"\x06" + key.encode("utf-8", "surrogatepass")
    return _encode(key, is_inside=False)


def decode(data):
    """The key of such bytes."""
    kind = data[0]
    if kind == _STR:
        return data[1:].decode("utf-8", "surrogatepass")
    if kind == _BYTES:
        return data[1:]
    return _decode(data, 0)[0]


def part_of(data, parts):
    """Which of `parts` partitions the bytes of a key belong to."""
    return zlib.crc32(data) % parts


def _encode(key, is_inside):
    if key is None:
        return bytes([_NONE])
    if isinstance(key, bool):
        return bytes([_BOOL, key])
    if isinstance(key, str):
        return b"\x06" + _text(key.encode("utf-8", "surrogatepass"), is_inside)
    if isinstance(key, bytes):
        return b"\x05" + _text(key, is_inside)
    if isinstance(key, float):
        return b"\x04" + _float(key)
    if isinstance(key, tuple):
        return b"\x07" + b"".join(_encode(item, is_inside=True) for item in key) + _END
    try:
        return b"\x03" + _int(operator.index(key))
    except TypeError:
        raise TypeError(
            f"{key!r:.100} of type {type(key).__name__} is no key: give {KINDS}"
        ) from None


def _text(data, is_inside):
    return data.replace(b"\0", b"\0\xff") + _END if is_inside else data


def _int(number):
    size = (abs(number).bit_length() + 7) // 8
    if size > _LONGEST_INT:
        raise ValueError(f"an int of {size} bytes is no key: at most {_LONGEST_INT} bytes are")
    if number >= 0:
        return bytes([0x80 + size]) + number.to_bytes(size, "big")
    return bytes([0x80 - size]) + (256**size - 1 + number).to_bytes(size, "big")


def _float(number):
    if number != number:
        raise ValueError("nan is no key: it equals nothing, itself included")
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))  # -0.0 is 0.0
    return struct.pack(">Q", bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63))


def _decode(data, at):
    """(what begins there, where it ends)."""
    kind, at = data[at], at + 1
    if kind == _NONE:
        return None, at
    if kind == _BOOL:
        return bool(data[at]), at + 1
    if kind == _INT:
        return _decoded_int(data, at)
    if kind == _FLOAT:
        (bits,) = struct.unpack(">Q", data[at : at + 8])
        bits ^= 1 << 63 if bits >> 63 else 0xFFFFFFFFFFFFFFFF
        return struct.unpack(">d", struct.pack(">Q", bits))[0], at + 8
    if kind == _TUPLE:
        items = []
        while data[at]:
            item, at = _decode(data, at)
            items.append(item)
        return tuple(items), at + 1
    raw, at = _decoded_text(data, at)
    return (raw if kind == _BYTES else raw.decode("utf-8", "surrogatepass")), at


def _decoded_int(data, at):
    size, at = data[at] - 0x80, at + 1
    number = int.from_bytes(data[at : at + abs(size)], "big")
    return (number if size >= 0 else number + 1 - 256**-size), at + abs(size)


def _decoded_text(data, at):
    end = at
    while data[end] or data[end + 1 : end + 2] == b"\xff":
        end += 1 if data[end] else 2
    return data[at:end].replace(b"\0\xff", b"\0"), end + 1

"""Messages as bytes and as Python objects: fields on the wire, repeated values, maps."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class DecodeError(ValueError):
    """Bytes that are no message of the type."""


def varint(value):
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def bytes_field(number, data):
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DecodeError("Error parsing message: a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7


def fields(data):
    """(number, wire type, value) of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise DecodeError("Error parsing message: a field has the number 0")
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            if kind == BYTES:
                size, at = read_varint(data, at)
            elif kind in (FIXED64, FIXED32):
                size = 8 if kind == FIXED64 else 4
            else:
                raise DecodeError(f"Error parsing message: a field has the wire type {kind}")
            value = data[at : at + size]
            if len(value) != size:
                raise DecodeError("Error parsing message: a field is cut off")
            at += size
        yield number, kind, value


class Values(list):
    """The values of a list message, each checked when it comes in."""

    def __init__(self, check, values=()):
        super().__init__(map(check, values))
        self._check = check

    def append(self, value):
        super().append(self._check(value))

    def extend(self, values):
        super().extend(map(self._check, values))

    def insert(self, index, value):
        super().insert(index, self._check(value))

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            super().__setitem__(index, map(self._check, value))
        else:
            super().__setitem__(index, self._check(value))

    def __iadd__(self, values):
        self.extend(values)
        return self

    def add(self, value):
        self.append(value)

    def MergeFrom(self, values):
        self.extend(values)


class MessageMap(dict):
    """A map to messages: asking for a key makes its message."""

    def __init__(self, kind, values=None):
        super().__init__()
        self._kind = kind
        for key, value in (values or {}).items():
            self._checked(key).CopyFrom(value)

    def _checked(self, key):
        if isinstance(key, bytes):
            key = key.decode()
        if not isinstance(key, str):
            raise TypeError(f"{key!r} has type {type(key).__name__}, but expected one of: str")
        if key not in self:
            super().__setitem__(key, self._kind())
        return super().__getitem__(key)

    def __missing__(self, key):
        return self._checked(key)

    def __setitem__(self, key, value):
        raise ValueError("May not set values directly, call my_map[key].foo = 5")

    def get_or_create(self, key):
        return self._checked(key)


class Messages(list):
    """Repeated messages."""

    def __init__(self, kind, values=()):
        super().__init__()
        self._kind = kind
        self.extend(values)

    def add(self, **fields):
        """A new message at the end."""
        made = self._kind(**fields)
        super().append(made)
        return made

    def append(self, value):
        self.add().CopyFrom(value)

    def extend(self, values):
        for value in values:
            self.append(value)

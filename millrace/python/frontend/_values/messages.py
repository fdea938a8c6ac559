"""Protocol messages as plain objects: their fields by name, and their bytes.

A class lists its fields: name -> (number, kind). Kinds are str, bytes, int or a class of it, bool, float, `double`,
another Message class, `many(kind)` for a list and `by_name(kind)` for a dictionary with names as keys. Fields that a
class does not list are kept as they were read, so that what is written again loses nothing.
"""

import struct

from millrace._values.message_parts import bytes_field, varint


class many:
    """The kind of a field that is a list."""

    def __init__(self, kind):
        self.kind = kind


class by_name:
    """The kind of a field that is a dictionary of strings."""

    def __init__(self, kind):
        self.kind = kind


class double:
    """The kind of a floating field of 64 bits."""


class _Messages(list):
    """Messages of one class, to which `add` puts another one."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def add(self, **values):
        """Puts a new message at the end and returns it."""
        self.append(self._kind(**values))
        return self[-1]


class _MessagesByName(dict):
    """Messages by name: asking for one that is not there makes it."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def __missing__(self, name):
        made = self[name] = self._kind()
        return made


_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_DEFAULTS = {str: "", bytes: b"", bool: False, float: 0.0, double: 0.0}


def _default(kind):
    return _DEFAULTS.get(kind, 0)


class Message:
    """A message: fields that were never set have their defaults, and are not written."""

    _fields = {}
    _is_choice = False  # one of its fields is set: it is written even where it is the default

    def __init__(self, **values):
        self._unknown = b""
        self._only_read = set()  # messages that were made by reading a field
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name not in self._fields:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        kind = self._fields[name][1]
        if isinstance(kind, many):
            made = _Messages(kind.kind) if issubclass(kind.kind, Message) else []
        elif isinstance(kind, by_name):
            made = _MessagesByName(kind.kind) if issubclass(kind.kind, Message) else {}
        elif issubclass(kind, Message):
            made = kind()
            self._only_read.add(name)
        else:
            return _default(kind)
        object.__setattr__(self, name, made)
        return made

    def __setattr__(self, name, value):
        if name not in self._fields and name not in ("_unknown", "_only_read"):
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        object.__setattr__(self, name, value)
        if name in self._fields:
            self._only_read.discard(name)

    def fields(self):
        """(name, (number, kind)) of all fields that are set."""
        return [item for item in self._fields.items() if self.HasField(item[0])]

    def HasField(self, name):
        """True if the field was set; reading it does not set it."""
        value = self.__dict__.get(name)
        if isinstance(value, (list, dict)):
            return bool(value)
        if name in self._only_read:
            return bool(value.fields()) or bool(value._unknown)
        return value is not None

    def ClearField(self, name):
        self.__dict__.pop(name, None)

    def CopyFrom(self, other):
        self.ParseFromString(other.SerializeToString())

    def SerializeToString(self):
        """The bytes of the message."""
        parts = []
        for name, (number, kind) in self.fields():
            value = getattr(self, name)
            if isinstance(kind, many):
                parts += [_field(number, kind.kind, item) for item in value]
            elif isinstance(kind, by_name):
                for key, item in value.items():
                    entry = _field(1, str, key) + _field(2, kind.kind, item)
                    parts.append(_field(number, bytes, entry))
            elif self._is_choice or isinstance(value, Message) or value != _default(kind):
                parts.append(_field(number, kind, value))
        return b"".join(parts) + self._unknown

    @classmethod
    def FromString(cls, data):
        """The message of these bytes. ValueError if they are none."""
        made = cls()
        made.ParseFromString(data)
        return made

    def ParseFromString(self, data):
        """Takes over bytes. ValueError if they are no such message."""
        self.__dict__.clear()
        self._unknown, self._only_read = b"", set()
        names = {number: (name, kind) for name, (number, kind) in self._fields.items()}
        data = bytes(data)
        at = 0
        while at < len(data):
            start = at
            tag, at = _read_varint(data, at, type(self))
            raw, at = _read_raw(data, at, tag & 7, type(self))
            name, kind = names.get(tag >> 3, (None, None))
            if name is None:
                self._unknown += data[start:at]
            else:
                self._take(name, kind, tag & 7, raw)

    def _take(self, name, kind, wire, raw):
        if isinstance(kind, by_name):
            entry = _entry_of(kind.kind).FromString(raw)
            getattr(self, name)[entry.key] = entry.value
        elif isinstance(kind, many):
            getattr(self, name).extend(_values(kind.kind, wire, raw, type(self)))
        else:
            setattr(self, name, _value(kind, wire, raw, type(self)))

    def __eq__(self, other):
        return type(self) is type(other) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None

    def __repr__(self):
        fields = ", ".join(
            f"{name}={value!r}" for name, value in self.__dict__.items() if name in self._fields
        )
        return f"{type(self).__name__}({fields})"


_entries = {}


def _entry_of(kind):
    """The message that one entry of a dictionary is."""
    if kind not in _entries:
        fields = {"key": (1, str), "value": (2, kind)}
        _entries[kind] = type("Entry", (Message,), {"_fields": fields})
    return _entries[kind]


def _field(number, kind, value):
    if kind is float:
        return varint(number << 3 | _FOUR_BYTES) + struct.pack("<f", value)
    if kind is double:
        return varint(number << 3 | _EIGHT_BYTES) + struct.pack("<d", value)
    if issubclass(kind, int):
        return varint(number << 3 | _VARINT) + varint(int(value))
    if isinstance(value, Message):
        value = value.SerializeToString()
    elif isinstance(value, str):
        value = value.encode()
    return bytes_field(number, value)


def _read_varint(data, at, cls):
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError(f"these bytes are no {cls.__name__}: a number ends in the middle")


def _read_raw(data, at, wire, cls):
    """(what a field holds, where the next one begins)."""
    if wire == _VARINT:
        return _read_varint(data, at, cls)
    if wire == _LENGTH:
        size, at = _read_varint(data, at, cls)
    else:
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(wire)
    if size is None or size > len(data) - at:
        raise ValueError(f"these bytes are no {cls.__name__}: they end, or differ, at byte {at}")
    return data[at : at + size], at + size


def _values(kind, wire, raw, cls):
    """The elements that one field adds to a list: several if they are packed."""
    if issubclass(kind, int) and wire == _LENGTH:
        found, at = [], 0
        while at < len(raw):
            number, at = _read_varint(raw, at, cls)
            found.append(_value(kind, _VARINT, number, cls))
        return found
    if kind in (float, double) and wire == _LENGTH:
        size = 4 if kind is float else 8
        if len(raw) % size:
            raise ValueError(f"these bytes are no {cls.__name__}: a list of numbers is cut off")
        return [item[0] for item in struct.iter_unpack("<f" if size == 4 else "<d", raw)]
    return [_value(kind, wire, raw, cls)]


def _value(kind, wire, raw, cls):
    expected = {float: _FOUR_BYTES, double: _EIGHT_BYTES}
    if wire != (_VARINT if issubclass(kind, int) else expected.get(kind, _LENGTH)):
        raise ValueError(f"these bytes are no {cls.__name__}: a field is of another type")
    if kind is bool:
        return bool(raw)
    if issubclass(kind, int):
        return raw - (1 << 64) if raw >> 63 else raw
    if kind is float:
        return struct.unpack("<f", raw)[0]
    if kind is double:
        return struct.unpack("<d", raw)[0]
    if kind is str:
        return raw.decode()
    return raw if kind is bytes else kind.FromString(raw)

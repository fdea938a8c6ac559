"""tf.train.Example and what it is made of: messages as Python objects, and the bytes that they are.

They behave as protobuf's classes do as far as programs use them: fields are set by keywords or filled in
place, maps make their values when asked, `SerializeToString` and `ParseFromString` read and write the
same bytes.
"""

import struct

from millrace._values.message_parts import (
    BYTES,
    FIXED32,
    VARINT,
    DecodeError,
    MessageMap,
    Messages,
    Values,
    bytes_field,
    fields,
    read_varint,
    varint,
)


class Message:
    """What all messages can do."""

    def SerializeToString(self, deterministic=None):
        """The bytes of the message."""
        raise NotImplementedError

    def MergeFromString(self, serialized):
        """Adds what the bytes say. DecodeError if they are no such message."""
        raise NotImplementedError

    def ParseFromString(self, serialized):
        """Becomes what the bytes say, and returns how many they were."""
        self.Clear()
        self.MergeFromString(bytes(serialized))
        return len(serialized)

    @classmethod
    def FromString(cls, serialized):
        """The message that the bytes stand for."""
        made = cls()
        made.ParseFromString(serialized)
        return made

    SerializePartialToString = SerializeToString

    def Clear(self):
        self.__init__()

    def CopyFrom(self, other):
        """Becomes equal to another message of the type."""
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to CopyFrom() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )
        if other is not self:
            self.ParseFromString(other.SerializeToString())

    def MergeFrom(self, other):
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to MergeFrom() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )
        self.MergeFromString(other.SerializeToString())

    def ByteSize(self):
        return len(self.SerializeToString())

    def IsInitialized(self):
        return True

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self.SerializeToString(True) == other.SerializeToString(True)

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(self._parts())})"

    def _parts(self):
        return []


def _checked_bytes(value):
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes")


def _checked_float(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except struct.error:
        raise TypeError(
            f"{value!r} has type {type(value).__name__}, but expected one of: int, float"
        ) from None


def _checked_int(value):
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(
            f"{value!r} has type {type(value).__name__}, but expected one of: int"
        ) from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"Value out of range: {number}")
    return number


class _List(Message):
    _check = None

    def __init__(self, value=()):
        self.value = Values(type(self)._check, () if value is None else value)

    def _parts(self):
        return [f"value={list(self.value)}"]


class BytesList(_List):
    """Values that are bytes."""

    _check = staticmethod(_checked_bytes)

    def SerializeToString(self, deterministic=None):
        return b"".join(bytes_field(1, value) for value in self.value)

    def MergeFromString(self, serialized):
        for number, kind, value in fields(serialized):
            if (number, kind) == (1, BYTES):
                self.value.append(value)


class FloatList(_List):
    """Values that are floats of 32 bits."""

    _check = staticmethod(_checked_float)

    def SerializeToString(self, deterministic=None):
        if not self.value:
            return b""
        return bytes_field(1, struct.pack(f"<{len(self.value)}f", *self.value))

    def MergeFromString(self, serialized):
        for number, kind, value in fields(serialized):
            if number != 1 or kind not in (BYTES, FIXED32):
                continue
            if len(value) % 4:
                raise DecodeError("Error parsing message: floats are cut off")
            self.value.extend(struct.unpack(f"<{len(value) // 4}f", value))


class Int64List(_List):
    """Values that are integers of 64 bits."""

    _check = staticmethod(_checked_int)

    def SerializeToString(self, deterministic=None):
        if not self.value:
            return b""
        return bytes_field(1, b"".join(map(varint, self.value)))

    def MergeFromString(self, serialized):
        for number, kind, value in fields(serialized):
            if number != 1:
                continue
            if kind == VARINT:
                self._add(value)
            elif kind == BYTES:
                at = 0
                while at < len(value):
                    one, at = read_varint(value, at)
                    self._add(one)

    def _add(self, value):
        self.value.append(value - (1 << 64) if value >> 63 else value)


class Feature(Message):
    """One of bytes_list, float_list, int64_list; asking for one that is not set gives an empty list."""

    _KINDS = {
        "bytes_list": (1, BytesList),
        "float_list": (2, FloatList),
        "int64_list": (3, Int64List),
    }

    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        self._kind = None
        self._lists = {}
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        for name, value in given.items():
            if value is None:
                continue
            kind = self._KINDS[name][1]
            if not isinstance(value, kind):
                raise TypeError(
                    f"Parameter to initialize message field must be {kind.__name__}, not "
                    f"{type(value).__name__}"
                )
            self._kind = name
            self._lists = {name: kind(value.value)}

    def _list(self, name):
        if name not in self._lists:
            self._lists[name] = self._KINDS[name][1]()
        return self._lists[name]

    bytes_list = property(lambda self: self._list("bytes_list"))
    float_list = property(lambda self: self._list("float_list"))
    int64_list = property(lambda self: self._list("int64_list"))

    def WhichOneof(self, name):
        """Which list is set: its name, or None."""
        if name != "kind":
            raise ValueError(f'Protocol message has no oneof "{name}" field.')
        filled = [kind for kind, values in self._lists.items() if values.value]
        # The list that was filled last; one that was set may have been left empty.
        return filled[-1] if filled else self._kind

    def HasField(self, name):
        if name not in self._KINDS:
            raise ValueError(f'Protocol message Feature has no "{name}" field.')
        return self.WhichOneof("kind") == name

    def SerializeToString(self, deterministic=None):
        kind = self.WhichOneof("kind")
        if kind is None:
            return b""
        return bytes_field(self._KINDS[kind][0], self._lists[kind].SerializeToString())

    def MergeFromString(self, serialized):
        names = {number: name for name, (number, _) in self._KINDS.items()}
        for number, kind, value in fields(serialized):
            if number not in names or kind != BYTES:
                continue
            name = names[number]
            if self._kind != name:
                self._lists = {}
            self._kind = name
            self._list(name).MergeFromString(value)

    def _parts(self):
        kind = self.WhichOneof("kind")
        return [] if kind is None else [f"{kind}={self._lists[kind]!r}"]


class _OfMap(Message):
    """A message that is a map and nothing else."""

    _NAME = _KIND = None

    def __init__(self, **given):
        unknown = set(given) - {self._NAME}
        if unknown:
            raise ValueError(
                f'Protocol message {type(self).__name__} has no "{unknown.pop()}" field.'
            )
        setattr(self, self._NAME, MessageMap(self._KIND, given.get(self._NAME)))

    def SerializeToString(self, deterministic=None):
        entries = getattr(self, self._NAME).items()
        return b"".join(
            bytes_field(
                1, bytes_field(1, key.encode()) + bytes_field(2, value.SerializeToString(True))
            )
            for key, value in (sorted(entries) if deterministic else entries)
        )

    def MergeFromString(self, serialized):
        for number, kind, entry in fields(serialized):
            if (number, kind) != (1, BYTES):
                continue
            key, value = b"", b""
            for part, part_kind, data in fields(entry):
                if (part, part_kind) == (1, BYTES):
                    key = data
                elif (part, part_kind) == (2, BYTES):
                    value = data
            try:
                name = key.decode()
            except UnicodeDecodeError:
                raise DecodeError("Error parsing message: a key is no UTF-8") from None
            getattr(self, self._NAME).get_or_create(name).ParseFromString(value)

    def _parts(self):
        return [f"{self._NAME}={dict(getattr(self, self._NAME))!r}"]


class Features(_OfMap):
    """`feature`: a map from names to Feature."""

    _NAME, _KIND = "feature", Feature


class FeatureList(Message):
    """`feature`: the Feature of each step."""

    def __init__(self, feature=()):
        self.feature = Messages(Feature, feature or ())

    def SerializeToString(self, deterministic=None):
        return b"".join(bytes_field(1, each.SerializeToString()) for each in self.feature)

    def MergeFromString(self, serialized):
        for number, kind, value in fields(serialized):
            if (number, kind) == (1, BYTES):
                self.feature.add().ParseFromString(value)

    def _parts(self):
        return [f"feature={list(self.feature)!r}"]


class FeatureLists(_OfMap):
    """`feature_list`: a map from names to FeatureList."""

    _NAME, _KIND = "feature_list", FeatureList


class _OfMessages(Message):
    """A message of other messages, each there from the start."""

    _PARTS = {}  # name -> (number, class)

    def __init__(self, **given):
        for name in given:
            if name not in self._PARTS:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        for name, (_, kind) in self._PARTS.items():
            part = kind()
            if given.get(name) is not None:
                part.CopyFrom(given[name])
            setattr(self, name, part)

    def HasField(self, name):
        if name not in self._PARTS:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        return bool(getattr(self, name).SerializeToString())

    def SerializeToString(self, deterministic=None):
        made = b""
        for name, (number, _) in self._PARTS.items():
            part = getattr(self, name).SerializeToString(deterministic)
            if part:
                made += bytes_field(number, part)
        return made

    def MergeFromString(self, serialized):
        names = {number: name for name, (number, _) in self._PARTS.items()}
        for number, kind, value in fields(serialized):
            if number in names and kind == BYTES:
                getattr(self, names[number]).MergeFromString(value)

    def _parts(self):
        return [f"{name}={getattr(self, name)!r}" for name in self._PARTS]


class Example(_OfMessages):
    """`features`: the Features of one example."""

    _PARTS = {"features": (1, Features)}


class SequenceExample(_OfMessages):
    """`context`: Features of the whole; `feature_lists`: those of each step."""

    _PARTS = {"context": (1, Features), "feature_lists": (2, FeatureLists)}

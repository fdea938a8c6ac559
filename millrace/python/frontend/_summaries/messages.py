"""The messages of summaries and events, by TensorFlow's names and fields."""

import struct

from millrace._values import messages
from millrace._values.message_parts import bytes_field, varint
from millrace._values.messages import double, many


class packed(many):
    """The kind of a list of `double`s that is written in one piece."""


class _Items(list):
    """A field that is a list of messages: `add` puts a new one at its end."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def add(self, **values):
        self.append(self._kind(**values))
        return self[-1]


class Message(messages.Message):
    """A message whose lists of messages have `add`; packed fields must be the last ones."""

    def __init__(self, **values):
        super().__init__()
        for name, value in values.items():
            kind = self._fields.get(name, (0, None))[1]
            if isinstance(kind, many):
                getattr(self, name).extend(value)
            elif value is not None:
                setattr(self, name, value)

    def __getattr__(self, name):
        kind = self._fields.get(name, (0, None))[1]
        if isinstance(kind, many) and isinstance(kind.kind, type):
            if issubclass(kind.kind, messages.Message):
                made = _Items(kind.kind)
                object.__setattr__(self, name, made)
                return made
        return super().__getattr__(name)

    def SerializeToString(self):
        held = {
            name: self.__dict__.pop(name)
            for name, (_, kind) in self._fields.items()
            if isinstance(kind, packed) and name in self.__dict__
        }
        try:
            data = super().SerializeToString()
        finally:
            self.__dict__.update(held)
        for name, values in held.items():
            if values:
                body = struct.pack(f"<{len(values)}d", *values)
                data += bytes_field(self._fields[name][0], body)
        return data

    def WhichOneof(self, unused):
        """The first field that is set of those of which one may be, or None."""
        return next((name for name in self._one_of if self.HasField(name)), None)

    def HasField(self, name):
        if name in self._one_of and name in self.__dict__:
            return True
        return super().HasField(name)

    def ByteSize(self):
        return len(self.SerializeToString())

    def MergeFrom(self, other):
        """Takes over what `other` has; lists become longer."""
        self.MergeFromString(other.SerializeToString())

    def MergeFromString(self, data):
        """As ParseFromString, keeping what is there."""
        self.ParseFromString(self.SerializeToString() + bytes(data))

    _one_of = ()


class HistogramProto(Message):
    """How many values lie below each limit."""

    _fields = {
        "min": (1, double),
        "max": (2, double),
        "num": (3, double),
        "sum": (4, double),
        "sum_squares": (5, double),
        "bucket_limit": (6, packed(double)),
        "bucket": (7, packed(double)),
    }


class SummaryDescription(Message):
    """What a summary's node says of it."""

    _fields = {"type_hint": (1, str)}


class PluginData(Message):
    """Which of TensorBoard's parts shows a value."""

    _fields = {"plugin_name": (1, str), "content": (2, bytes)}


class SummaryMetadata(Message):
    """How a value is to be shown."""

    _fields = {
        "plugin_data": (1, PluginData),
        "display_name": (2, str),
        "summary_description": (3, str),
        "data_class": (4, int),
    }
    PluginData = PluginData


class Image(Message):
    """A picture: colorspace is 1 for grey, 3 for RGB, 4 for RGBA."""

    _fields = {
        "height": (1, int),
        "width": (2, int),
        "colorspace": (3, int),
        "encoded_image_string": (4, bytes),
    }


class Audio(Message):
    """A sound."""

    _fields = {
        "sample_rate": (1, float),
        "num_channels": (2, int),
        "length_frames": (3, int),
        "encoded_audio_string": (4, bytes),
        "content_type": (5, str),
    }


class TensorProto(Message):
    """A tensor as TensorSummaryV2 keeps it."""

    _fields = {"dtype": (1, int), "tensor_content": (4, bytes), "string_val": (8, many(bytes))}


class Value(Message):
    """A tag and one of simple_value, image, histo, audio and tensor."""

    _fields = {
        "tag": (1, str),
        "simple_value": (2, float),
        "obsolete_old_style_histogram": (3, bytes),
        "image": (4, Image),
        "histo": (5, HistogramProto),
        "audio": (6, Audio),
        "node_name": (7, str),
        "tensor": (8, TensorProto),
        "metadata": (9, SummaryMetadata),
    }
    _one_of = ("simple_value", "obsolete_old_style_histogram", "image", "histo", "audio", "tensor")

    def SerializeToString(self):
        data = super().SerializeToString()
        # One of several things that it may be: it is written also where it is zero.
        if self.__dict__.get("simple_value") == 0:
            tag = self.tag.encode()
            at = 1 + len(varint(len(tag))) + len(tag) if tag else 0
            data = data[:at] + b"\x15" + struct.pack("<f", self.simple_value) + data[at:]
        return data


class Summary(Message):
    """What a step tells of itself: values, each with its tag."""

    _fields = {"value": (1, many(Value))}
    Value = Value
    Image = Image
    Audio = Audio


class LogMessage(Message):
    """A line that a program logs into its events."""

    UNKNOWN, DEBUGGING, INFO, WARN, ERROR, FATAL = 0, 10, 20, 30, 40, 50
    _fields = {"level": (1, int), "message": (2, str)}


class SessionLog(Message):
    """What became of a session."""

    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3
    _fields = {"status": (1, int), "checkpoint_path": (2, str), "msg": (3, str)}


class TaggedRunMetadata(Message):
    """RunMetadata of one step, as bytes."""

    _fields = {"tag": (1, str), "run_metadata": (2, bytes)}


class Event(Message):
    """A record of a file of events: when, at which step, and one thing."""

    _fields = {
        "wall_time": (1, double),
        "step": (2, int),
        "file_version": (3, str),
        "graph_def": (4, bytes),
        "summary": (5, Summary),
        "log_message": (6, LogMessage),
        "session_log": (7, SessionLog),
        "tagged_run_metadata": (8, TaggedRunMetadata),
        "meta_graph_def": (9, bytes),
    }
    _one_of = (
        "file_version",
        "graph_def",
        "summary",
        "log_message",
        "session_log",
        "tagged_run_metadata",
        "meta_graph_def",
    )

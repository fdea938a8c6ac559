"""Fields: objects with the fields of TensorFlow's messages, and the bytes of these messages."""

import functools

from millrace._graph.graph_def import GraphDef
from millrace._values.messages import Message, many


class Fields:
    """An object with known fields; unknown ones are refused, nested ones are made when first read."""

    _defaults = {}
    _nested = {}
    # Of the fields that are written as bytes: number in TensorFlow's message, and kind (messages.py).
    _wire = {}

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name in self._nested:
            made = self._nested[name]()
            object.__setattr__(self, name, made)
            return made
        if name in self._defaults:
            value = self._defaults[name]
            if isinstance(value, (list, dict)):
                value = type(value)(value)
                object.__setattr__(self, name, value)
            return value
        raise AttributeError(f"{type(self).__name__} has no field '{name}'")

    def __setattr__(self, name, value):
        if name not in self._defaults and name not in self._nested:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        object.__setattr__(self, name, value)

    def HasField(self, name):
        return name in self.__dict__

    def CopyFrom(self, other):
        self.__dict__.clear()
        self.MergeFrom(other)

    def MergeFrom(self, other):
        for name, value in other.__dict__.items():
            if isinstance(value, Fields):
                getattr(self, name).MergeFrom(value)
            else:
                setattr(
                    self, name, type(value)(value) if isinstance(value, (list, dict)) else value
                )

    def SerializeToString(self):
        """The bytes of TensorFlow's message of this name: of the fields that were set."""
        return _to_message(self).SerializeToString()

    def ParseFromString(self, data):
        """Takes over bytes. ValueError if they are no such message."""
        self.__dict__.clear()
        _take_message(self, _message_class(type(self)).FromString(data))

    @classmethod
    def FromString(cls, data):
        """From bytes. ValueError if they are no such message."""
        made = cls()
        made.ParseFromString(data)
        return made

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None

    def __repr__(self):
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


@functools.cache
def _message_class(cls):
    """The message that has the bytes of a class of fields."""

    def plain(kind):
        if isinstance(kind, many):
            return many(plain(kind.kind))
        if kind is GraphDef:
            return bytes
        return _message_class(kind) if hasattr(kind, "_wire") else kind

    fields = {name: (number, plain(kind)) for name, (number, kind) in cls._wire.items()}
    return type(cls.__name__, (Message,), {"_fields": fields})


def _to_message(fields):
    """A message of what is set."""

    def plain(value):
        if isinstance(value, Fields):
            return _to_message(value)
        if isinstance(value, GraphDef):
            return value.SerializeToString()
        return [plain(item) for item in value] if isinstance(value, list) else value

    made = _message_class(type(fields))()
    for name in fields._wire.keys() & fields.__dict__.keys():
        setattr(made, name, plain(getattr(fields, name)))
    return made


def _take_message(fields, message):
    """Sets what a message has."""

    def taken(kind, value):
        if isinstance(kind, many):
            return [taken(kind.kind, item) for item in value]
        if kind is GraphDef:
            return GraphDef(value)
        if hasattr(kind, "_wire"):
            made = kind()
            _take_message(made, value)
            return made
        return value

    for name, (_, kind) in fields._wire.items():
        if name in message.__dict__:
            setattr(fields, name, taken(kind, getattr(message, name)))

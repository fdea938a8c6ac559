"""Protocol text: messages as people read them, one field a line, as TensorFlow writes .pbtxt files."""

import struct

from millrace._values.messages import Message, by_name, double, many

_PLAIN = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


class Enum(int):
    """The kind of a field whose numbers have names; a subclass lists them in `names`."""

    names = {}


def quoted(value):
    """str or bytes as protocol text has them: bytes beyond ASCII in octal."""
    data = value.encode() if isinstance(value, str) else value
    return '"%s"' % "".join(
        _PLAIN.get(chr(byte)) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in data
    )


def _number(kind, value):
    if kind is float:
        # As few digits as tell this number from all others of 32 bits.
        for digits in range(6, 10):
            text = f"{value:.{digits}g}"
            if value != value or abs(value) == float("inf"):
                break
            if struct.pack("<f", float(text)) == struct.pack("<f", value):
                break
        return text
    return (
        f"{value:.17g}" if kind is double and float(f"{value:.15g}") != value else f"{value:.15g}"
    )


def _scalar(kind, value):
    if kind in (str, bytes):
        return quoted(value)
    if kind is bool:
        return "true" if value else "false"
    if kind in (float, double):
        return _number(kind, value)
    return kind.names.get(value, str(value)) if issubclass(kind, Enum) else str(value)


def _lines(message, indent, out):
    for name, (_, kind) in message.fields():
        value = getattr(message, name)
        if isinstance(kind, many):
            for item in value:
                _field(name, kind.kind, item, indent, out)
        elif isinstance(kind, by_name):
            for key in sorted(value):
                out.append(f"{indent}{name} {{")
                _field("key", str, key, indent + "  ", out)
                _field("value", kind.kind, value[key], indent + "  ", out)
                out.append(f"{indent}}}")
        else:
            _field(name, kind, value, indent, out)


def _field(name, kind, value, indent, out):
    if issubclass(kind, Message):
        out.append(f"{indent}{name} {{")
        _lines(value, indent + "  ", out)
        out.append(f"{indent}}}")
    else:
        out.append(f"{indent}{name}: {_scalar(kind, value)}")


def to_text(message):
    """The fields of a Message that are set, in protocol text."""
    out = []
    _lines(message, "", out)
    return "".join(line + "\n" for line in out)

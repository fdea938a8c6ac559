"""Messages read from protocol text, the form that message_text writes and people edit."""

import re

from millrace._values.message_text import Enum
from millrace._values.messages import Message, by_name, double, many

_TOKEN = re.compile(
    r"""(?:\s+|\#[^\n]*)*(?:(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<word>[-+\w./]+)"""
    r"""|(?P<sign>[{}<>:\[\],;]))""",
    re.DOTALL,
)
_NOTHING = re.compile(r"(?:\s+|#[^\n]*)*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_CLOSING = {"{": "}", "<": ">"}
_DEEPEST = 100


def unquoted(text):
    """The bytes of a quoted string."""

    def plain(match):
        octal, hexadecimal, char = match.groups()
        if octal or hexadecimal:
            return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 255])
        return _ESCAPES.get(char.decode(), char.decode()).encode()

    return _ESCAPE.sub(plain, text[1:-1].encode())


def from_text(kind, text):
    """The message of class `kind` that `text` is. ValueError, with the line, if it is none."""
    reader = _Reader(text)
    message = reader.message(kind, None, 0)
    return message


class _Reader:
    def __init__(self, text):
        self._text = text
        self._at = 0
        self._next = None
        self._advance()

    def _advance(self):
        """The token that was next; the one after it is next then, None at the end."""
        was = self._next
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            if _NOTHING.match(self._text, self._at).end() != len(self._text):
                raise self._fault(f"what is this: {self._text[self._at : self._at + 30]!r}")
            self._next = None
        else:
            self._at = match.end()
            self._next = match.lastgroup, match.group(match.lastgroup)
        return was

    def _fault(self, what):
        return ValueError(f"line {self._text.count(chr(10), 0, self._at) + 1}: {what}")

    def _takes(self, *signs):
        if self._next is not None and self._next[0] == "sign" and self._next[1] in signs:
            return self._advance()[1]
        return None

    def message(self, kind, closing, depth):
        """The fields up to `closing`, or to the end of the text."""
        if depth > _DEEPEST:
            raise self._fault(f"messages are nested deeper than {_DEEPEST}")
        made = kind()
        while not (closing and self._takes(closing)):
            if self._next is None:
                if closing:
                    raise self._fault(f"'{closing}' is missing at the end of a {kind.__name__}")
                return made
            if self._takes("["):
                self._spelled_out(made, kind, depth)
                continue
            token, name = self._advance()
            if token != "word" or name not in kind._fields:
                raise self._fault(f"'{name}' is no field of a {kind.__name__}")
            self._field(made, name, kind._fields[name][1], depth)
            self._takes(",", ";")
        return made

    def _spelled_out(self, made, kind, depth):
        """The only field of a message of any class: "[type] { ... }"."""
        url = ""
        while not self._takes("]"):
            if self._next is None or self._next[0] == "text":
                raise self._fault("a type in brackets does not end")
            url += self._advance()[1]
        if url not in getattr(kind, "known_kinds", {}):
            raise self._fault(f"'{url}' is no type that a {kind.__name__} may be")
        self._takes(":")
        made.type_url = url
        made.value = self._held(kind.known_kinds[url], depth).SerializeToString()

    def _field(self, made, name, kind, depth):
        self._takes(":")
        if isinstance(kind, by_name):
            entry = self._held(_entry_of(kind.kind), depth)
            getattr(made, name)[entry.key] = entry.value
        elif isinstance(kind, many):
            values = getattr(made, name)
            if self._takes("["):
                while not self._takes("]"):
                    values.append(self._held(kind.kind, depth))
                    self._takes(",")
            else:
                values.append(self._held(kind.kind, depth))
        else:
            setattr(made, name, self._held(kind, depth))

    def _held(self, kind, depth):
        if issubclass(kind, Message):
            opening = self._takes("{", "<")
            if opening is None:
                raise self._fault(f"a {kind.__name__} begins with '{{'")
            return self.message(kind, _CLOSING[opening], depth + 1)
        if self._next is None:
            raise self._fault("the text ends where a value should be")
        token, text = self._advance()
        if kind in (str, bytes):
            return self._string(kind, token, text)
        if token != "word":
            raise self._fault(f"{text} is no {kind.__name__}")
        try:
            return _plain_value(kind, text)
        except (KeyError, ValueError, OverflowError):
            raise self._fault(f"{text} is no {kind.__name__}") from None

    def _string(self, kind, token, text):
        if token != "text":
            raise self._fault(f"{text} is no string in quotes")
        data = unquoted(text)
        while self._next is not None and self._next[0] == "text":
            data += unquoted(self._advance()[1])  # strings in a row are one
        if kind is bytes:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self._fault(f"{text} is no text in UTF-8") from None


def _plain_value(kind, text):
    if kind is bool:
        return {"true": True, "True": True, "t": True, "1": True}.get(text) or {
            "false": False,
            "False": False,
            "f": False,
            "0": False,
        }[text]
    if kind in (float, double):
        return float(text.removesuffix("f") if text[-2:-1].isdigit() else text)
    if issubclass(kind, Enum) and not text.lstrip("-").isdigit():
        return {name: number for number, name in kind.names.items()}[text]
    return int(text, 16 if "0x" in text else 10)


def _entry_of(kind):
    return type("Entry", (Message,), {"_fields": {"key": (1, str), "value": (2, kind)}})

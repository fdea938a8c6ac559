"""What a check must know of a C++ file: its comments, its includes, and whether it is for tests."""

import functools
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"(?P<quoted>[^"]+)"|<(?P<angled>millrace/[^>]+)>)')

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|(?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+')",
    re.DOTALL,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """The text with comments as blanks; lines and columns stay where they are."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], text)


@functools.lru_cache(maxsize=None)
def code(text):
    """The text with comments and the insides of literals as blanks."""

    def replaced(match):
        if match["comment"]:
            return _blank(match[0])
        return match[0][0] + _blank(match[0][1:-1]) + match[0][-1]

    return _TOKEN.sub(replaced, text)


def comments(text):
    """The comments as (number of the line, text of that line)."""
    for match in _TOKEN.finditer(text):
        if match["comment"]:
            first = text.count("\n", 0, match.start()) + 1
            for offset, line in enumerate(match[0].split("\n")):
                yield first + offset, line


def literals(text):
    """The string literals of a file."""
    return [m[0] for m in _TOKEN.finditer(text) if m["raw"] or m["string"]]


def includes(text):
    """The paths that a file includes, as (number of the line, path)."""
    if 'R"' in text:  # what a generator writes is not what it includes
        text = _TOKEN.sub(lambda m: _blank(m[0]) if m["raw"] else m[0], text)
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match["quoted"] or match["angled"]


class Includes:
    """Who includes whom among the C++ files of a tree."""

    def __init__(self, tree):
        self.tree = tree
        self.of = {str(file): [path for _, path in includes(tree.text(file))] for file in tree.cpp}
        self.by = {}
        for file, paths in self.of.items():
            for path in paths:
                self.by.setdefault(path, []).append(file)

    @functools.cached_property
    def tests(self):
        """The files that are compiled into tests only: those named or placed so, headers that
        nothing else includes, and the sources of such headers."""
        found = {str(file) for file in self.tree.cpp if is_test(file)}
        while True:
            more = {
                file
                for file in self.of
                if file not in found
                and (
                    self._only_for(found, file)
                    if file.endswith(".h")
                    else self._header(file) in found
                )
            }
            if not more:
                return found
            found |= more

    @staticmethod
    def _header(source):
        return source.removesuffix(".cc") + ".h"

    def _only_for(self, tests, header):
        own = header.removesuffix(".h") + ".cc"
        others = [file for file in self.by.get(header, []) if file != own]
        return bool(others) and all(file in tests for file in others)

    @functools.cache
    def closure(self, file):
        """All that a file includes, directly or not, and itself."""
        found, left = {file}, [file]
        while left:
            for path in self.of.get(left.pop(), []):
                if path not in found:
                    found.add(path)
                    left.append(path)
        return frozenset(found)


def is_test(file):
    """Whether a file says by its name or place that it is for tests."""
    return file.name.endswith("_test.cc") or "testing" in file.parts or file.parts[0] == "tests"

"""Docstrings as Markdown: prose stays prose, `Args:` and the like become lists, what is indented is code."""

import re
import textwrap

_SECTION = re.compile(r"([A-Z][A-Za-z ]+):$")
_ENTRY = re.compile(r"(\S[^:]*): (.*)$")
_CODE = re.compile(r"(`+[^`]+`+)")


def escaped(text):
    """Prose of which Markdown takes nothing for a sign but backticks."""
    parts = _CODE.split(text)
    parts[::2] = [re.sub(r"([\\*_\[\]<>|#$~{}^])", r"\\\1", part) for part in parts[::2]]
    # A line that begins so would be a list, or a heading.
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", "".join(parts))


def markdown(docstring):
    blocks = re.split(r"\n\s*\n", textwrap.dedent(docstring).strip("\n"))
    return "\n\n".join(_block(block.splitlines()) for block in blocks if block.strip())


def _block(lines):
    if section := _SECTION.match(lines[0]):
        inside = textwrap.dedent("\n".join(lines[1:])).splitlines()
        return "\n".join([f"**{section[1]}**", "", *_entries(inside)]).rstrip()
    if all(line.startswith("    ") for line in lines):
        return "\n".join(["```text", *textwrap.dedent("\n".join(lines)).splitlines(), "```"])
    return escaped(" ".join(line.strip() for line in lines))


def _entries(lines):
    """A list of `name: text` with the lines that go on with it; lines that are no such entries as prose."""
    joined = []
    for line in lines:
        if line.startswith(" ") and joined:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line.strip())
    if not all(_ENTRY.match(line) for line in joined):
        return [escaped(" ".join(joined))]
    named = [_ENTRY.match(line).groups() for line in joined]
    return [f"- `{name.strip('`')}`: {escaped(text)}" for name, text in named]

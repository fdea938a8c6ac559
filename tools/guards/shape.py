"""A file has at most 800 lines and a name that says something; a room has a README of 3 to 10 lines;
a source says whose part it is."""

import re
from pathlib import Path

from guards import cpp
from guards.rooms import HEIGHT
from guards.tree import YARDS, Fault

SOFT_CAP = 400
HARD_CAP = 800
README_LINES = (3, 10)

TYPE = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:class|struct|enum(?:\s+class)?|concept|using)\s+"
    r"(?:(?:\[\[\w+\]\]|alignas\([^)]*\)|MR_\w+(?:\([^)]*\))?)\s+)*(?P<name>\w+)"
)
BANNED_TYPE = re.compile(r"(Manager|Helpers?|Utils?|Common)(?![a-z])")
BANNED_FILE = re.compile(r"(^|_)(manager|helpers?|utils?|common)(_|$)")

MAIN = re.compile(r"^int main\(", re.MULTILINE)
# That this header exists is checked with all files that comments name.
PART = re.compile(r"^// Part of [\w./]+\.h: \S")


def _sources(tree):
    return [file for top in ("millrace", *YARDS) for file in tree.below(top, ".h", ".cc", ".py")]


def check_sizes(tree):
    for file in _sources(tree):
        lines = tree.text(file).count("\n")
        if lines > HARD_CAP:
            yield Fault(file, lines, f"the hard cap is {HARD_CAP} lines: split it by concept")


def long_files(tree):
    """The files above the soft cap, as (file, lines)."""
    for file in _sources(tree):
        if SOFT_CAP < (lines := tree.text(file).count("\n")) <= HARD_CAP:
            yield file, lines


def check_names(tree):
    for file in tree.cpp:
        if BANNED_FILE.search(file.stem):
            yield Fault(file, 1, f"'{file.name}' is a drawer, not a concept: name what is in it")
        for number, line in enumerate(tree.text(file).splitlines(), 1):
            if (kind := TYPE.match(line)) and (word := BANNED_TYPE.search(kind["name"])):
                said = f"type '{kind['name']}': '{word[1]}' says nothing; name the concept"
                yield Fault(file, number, said)


def check_readmes(tree):
    least, most = README_LINES
    wanted = (
        f"{least} to {most} lines on what the room is for, what it must never know, "
        "and where to start reading"
    )
    for room in HEIGHT:
        readme = Path("millrace", room, "README.md")
        if str(readme.parent) in tree.folders and not tree.has(readme):
            yield Fault(readme, 1, f"missing: {wanted}")
    for readme in tree.below("millrace", ".md"):
        lines = tree.text(readme).rstrip("\n").count("\n") + 1
        if readme.name == "README.md" and not least <= lines <= most:
            yield Fault(readme, lines, f"has {lines} lines instead of {wanted}")


def check_parts(tree):
    for file in tree.below("millrace", ".cc"):
        if cpp.is_test(file) or tree.has(file.with_suffix(".h")) or MAIN.search(tree.text(file)):
            continue
        first = tree.text(file).split("\n", 1)[0]
        if not PART.match(first):
            said = "has no header of its name: begin it with '// Part of <header>.h: <what it does of it>'"
            yield Fault(file, 1, said)

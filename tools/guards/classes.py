"""A class has a name of its own. Of two classes that are called alike the linker keeps one destructor,
one vtable, one of everything inline, whichever the program needs. Classes of anonymous namespaces, and those of
tests, may share a name."""

import re

from guards import cpp
from guards.tree import Fault

OPENED = re.compile(r"(?:inline )?namespace(?: (?P<name>[\w:]+))? \{")
CLASS = re.compile(r"(?:struct|class) (?:\[\[\w+\]\] )?(?P<name>\w+)(?: final)?(?: : [^:;]*)? \{")


def classes(text):
    """The (line, name with its namespaces) of classes at the top of namespaces that have a name."""
    inside, before = [], ""
    for number, line in enumerate(cpp.code(text).splitlines(), 1):
        if match := OPENED.match(line):
            inside.append(match["name"])
        elif line.startswith("}") and not line.startswith("};") and inside:
            if "namespace" in text.splitlines()[number - 1]:
                inside.pop()
        elif (match := CLASS.match(line)) and None not in inside and "template" not in before:
            yield number, "::".join([*inside, match["name"]])
        before = line


def check(tree):
    first = {}
    for file in tree.below("millrace", ".h", ".cc"):
        if cpp.is_test(file):
            continue
        for number, name in classes(tree.text(file)):
            other = first.setdefault(name, file)
            if other != file:
                yield Fault(file, number, f"{name} is also a class of {other}: rename one of them")

"""A public function that a header of a room declares is called by more than tests.

Lexical: a call is the function's name in a file that includes the header, directly or not, outside of
comments and of the function's own declaration and definition. So a common name may hide a function
that nothing calls, but what is reported is not called.
"""

import functools
import os
import re
from pathlib import Path

from guards import cpp
from guards.tree import Fault

# What it declares is for programs, which are not here.
PROGRAMS = "millrace/millrace.h"

OWN = Path("tools/guards/unused.py")

# Their literals are code that calls.
GENERATORS = ["millrace/bin/generate_cc_ops.cc"]

# "header:function", each with the reason why it stays.
ALLOWED = {
    "reception.h:num_waiting": "tests see that who says nothing is let go",
    "registry.h:add_kernel": "for folders of kernels for other devices",
    "text.h:parse_graph": "tests and people write graphs as text",
    # What tests look at: nothing else tells whether memory, threads and the books of steps stay small.
    "buffer.h:cached_block_bytes": "tests see that memory is given back",
    "received_bytes.h:held": "tests see that messages leave no memory behind",
    "transport.h:num_direct_messages": "tests see which way calls take",
    "standby.h:description": "the search of the standby's rules tells states apart by it",
    "plan_cache.h:num_prepared": "tests see that steps are let go",
    "master.h:counts": "the simulated cluster sees that nothing is left",
    "worker.h:counts": "the simulated cluster sees that nothing is left",
}

# Whole headers that are written ahead of what will call them.
AHEAD = {}

# The language and libraries call these by themselves.
_BY_OTHERS = {
    "begin",
    "end",
    "swap",
    "what",
    "AbslHashValue",
    "AbslStringify",
    "allocate",
    "deallocate",
}
_BY_OTHERS |= {"min", "max"}  # of a source of random bits

_KEYWORDS = {
    "if", "for", "while", "switch", "return", "sizeof", "alignof", "decltype", "noexcept", "requires",
    "static_assert", "alignas", "operator", "explicit", "void", "bool", "int", "auto", "const", "delete",
    "new", "template", "typename", "class", "struct", "using", "typedef", "friend", "defined",
}  # fmt: skip
_CALLED_MACRO = re.compile(
    r"\b(?:MR_\w+|alignas|decltype|noexcept|explicit|requires|__attribute__)\s*\("
)


def _without_calls(text):
    """The statement without MR_GUARDED_BY(x), noexcept(x) and the like."""
    while match := _CALLED_MACRO.search(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + " " + text[end:]
    return text


def _without_angles(text):
    """The statement without <template arguments>."""
    kept, depth = [], 0
    for index, char in enumerate(text):
        if char == "<" and index and (text[index - 1].isalnum() or text[index - 1] in "_ "):
            depth += 1
        elif char == ">" and depth and text[index - 1] != "-":
            depth -= 1
        elif not depth:
            kept.append(char)
    return "".join(kept)


def _declared(statement, scope):
    """The name of the function that a statement of a header declares, or None."""
    if re.match(r"\s*(?:using|typedef|friend|static_assert|extern|enum|#)\b", statement):
        return None
    if re.search(r"\boperator\b", statement):
        return None
    plain = _without_angles(_without_calls(statement))
    head, bracket, rest = plain.partition("(")
    if not bracket or "=" in head:
        return None
    match = re.search(r"(?P<before>.*?)(?P<name>~?[A-Za-z_]\w*)\s*$", head, re.DOTALL)
    if not match or match["name"] in _KEYWORDS or match["name"].startswith("~"):
        return None
    before = match["before"].strip()
    if not before or before.endswith(("::", ".", "->")) or match["name"] == scope:
        return None  # a constructor, or a member defined outside of its class
    if re.search(r"\b(?:override|final)\b", rest) or re.search(r"=\s*delete", rest):
        return None
    return match["name"]


def _plain(text):
    """The code of a header without its directives."""
    return re.sub(
        r"(?m)^[ \t]*#.*(?:\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m[0]), cpp.code(text)
    )


def _statements(text):
    """What stands at the level of namespaces and classes that all may see, as (statement, where it
    starts, where it ends, the name of its class, the scope that it opens). Bodies are left out."""
    scopes, start, index = [], 0, 0  # of [kind, name, access]
    while index < len(text):
        char = text[index]
        if char == "(":
            index = _closing(text, index)
        elif char in "{;}":
            statement = text[start:index]
            if scopes and scopes[-1][0] == "class":
                for access in re.finditer(r"\b(public|private|protected)\s*:(?!:)", statement):
                    scopes[-1][2] = access[1]
                statement = re.sub(
                    r"\b(?:public|private|protected)\s*:(?!:)", lambda m: " " * len(m[0]), statement
                )
            opened = _opens(statement) if char == "{" else None
            if char != "}" and all(kind != "body" and seen == "public" for kind, _, seen in scopes):
                first = start + len(statement) - len(statement.lstrip())
                inside = scopes[-1][1] if scopes else None
                yield statement, first, index, inside, opened
            if char == "{":
                scopes.append(opened or ["body", None, "public"])
            elif char == "}" and scopes:
                scopes.pop()
            start = index + 1
        index += 1


def _closing(text, index):
    """Where the bracket at `index` is closed."""
    depth, pairs = 0, {"(": 1, ")": -1, "{": 1, "}": -1}
    for end in range(index, len(text)):
        depth += pairs.get(text[end], 0)
        if depth == 0:
            return end
    return len(text) - 1


def declarations(text):
    """The functions that a header declares for others: (line, name, whether it is of a class)."""
    text = _plain(text)
    for statement, first, _, inside, opened in _statements(text):
        if not opened and (name := _declared(statement, inside)):
            yield text.count("\n", 0, first) + 1, name, inside is not None


def types(text):
    """The types that a header defines for others and does not use itself: (line, name)."""
    text = _plain(text)
    for _, first, end, _, opened in _statements(text):
        if not opened or opened[0] != "class":
            continue
        outside = text[:first] + text[_closing(text, end) :]
        if not re.search(
            rf"\b{opened[1]}\b", re.sub(rf"\b(?:class|struct) {opened[1]};", "", outside)
        ):
            yield text.count("\n", 0, first) + 1, opened[1]


def _opens(statement):
    """The scope that a '{' after this statement opens, None for that of a function or a value."""
    plain = _without_angles(_without_calls(statement))
    if re.match(r"\s*(?:inline\s+)?namespace\b", plain):
        return [
            "namespace",
            None,
            "anonymous" if re.fullmatch(r"\s*namespace\s*", plain) else "public",
        ]
    kind = re.match(
        r"\s*(?:template\s*)?(?:requires\b.*?)?(class|struct|union)\s+(?:\[\[.*?\]\]\s*)?(\w+)",
        plain,
    )
    if kind and "(" not in plain:
        return ["class", kind[2], "private" if kind[1] == "class" else "public"]
    return None


# "name", "name(" and, after a dot, an arrow or a type, ".name"
_USE = re.compile(
    r"(?:(?P<dot>\.|->)|(?P<scope>\b[A-Z]\w*)::|\b)"
    r"(?P<template>template )?(?P<name>[A-Za-z_]\w*)(?P<call>(?=\s*(?:<[^;(){}]*>)?\s*\())?"
)
_DEFINITION = re.compile(r"(?m)^(?!\s|#|return\b)[^\n;={}()]*?(?P<scope>::)?\b(?P<name>\w+)\(")


def _count(counts, match, is_call, is_member):
    name = match["name"]
    for key in (name, name + "(" if is_call else None, "." + name if is_member else None):
        counts[key] = counts.get(key, 0) + 1


def _uses(text):
    """How often a file names what: as it stands ("x"), called ("x("), as a member (".x")."""
    counts = {}
    for match in _USE.finditer(re.sub(r"(?m)^\s*#\s*include.*", "", cpp.code(text))):
        is_member = match["scope"] or (match["dot"] and match["call"] is not None)
        _count(counts, match, match["call"] is not None, is_member)
    return counts


def _definitions(text):
    """How many of the uses are definitions, which stand at the left margin: `Type Class::name(`."""
    counts = {}
    for match in _DEFINITION.finditer(cpp.code(text)):
        _count(counts, match, True, match["scope"])
    return counts


class Callers:
    """Who calls what among the files that are not for tests."""

    def __init__(self, tree):
        self.tree = tree
        self.graph = cpp.Includes(tree)
        self.tests = self.graph.tests
        files = [str(file) for file in tree.cpp if str(file) not in self.tests]
        self.uses = {file: _uses(tree.text(file)) for file in files}
        self.defined = {
            file: _definitions(tree.text(file)) for file in files if file.endswith(".cc")
        }
        self.generated = {
            word
            for file in GENERATORS
            if tree.has(file)
            for literal in cpp.literals(tree.text(file))
            for word in re.findall(r"\w+", literal)
        }
        self.reach = {}
        for file in files:
            for header in self.graph.closure(file):
                self.reach.setdefault(header, set()).add(file)

    def code(self, file):
        return cpp.code(self.tree.text(file)) if self.tree.has(file) else ""

    def may_call(self, header):
        """The files that may call what a header declares: who includes it, and the headers that some
        file includes beside it, whose templates may get the header's types."""
        found = set(self.reach.get(header, ()))
        for file in list(found):
            found |= self.graph.closure(file) & self.uses.keys()
        return found

    def call(self, name, header, declared, is_member, files):
        """Whether one of the files calls this function, declared so many times in the header."""
        if name in self.generated:
            return True
        own = header.removesuffix(".h")
        for file in files:
            at_home = file == header or file.startswith(own) or file in self.parts(header)
            keys = (
                [name] if not is_member else ["." + name, name + "("] if at_home else ["." + name]
            )
            defined = self.defined.get(file, {})
            count = sum(self.uses[file].get(key, 0) - defined.get(key, 0) for key in keys)
            if file == header:
                count -= declared
            if count > 0:
                return True
        return False

    @functools.cache
    def parts(self, header):
        """The sources that define members of the header's classes: those that include it from its
        own folder."""
        folder = os.path.dirname(header)
        return {file for file in self.graph.by.get(header, ()) if os.path.dirname(file) == folder}


def check(tree):
    callers = Callers(tree)
    programs = tree.text(PROGRAMS) if tree.has(PROGRAMS) else ""
    for_programs = {path for _, path in cpp.includes(programs)}
    allowed = dict(ALLOWED)
    for file in tree.below("millrace", ".h"):
        header = str(file)
        if header in callers.tests or header in for_programs:
            continue
        text = tree.text(file)
        for line, name, said in [
            *_uncalled(callers, header, text),
            *_unnamed(callers, header, text),
        ]:
            if file.name in AHEAD:
                continue
            if f"{file.name}:{name}" in ALLOWED:
                allowed.pop(f"{file.name}:{name}", None)
                continue
            yield Fault(
                file,
                line,
                f"nothing but tests uses {said}: delete it, "
                "or say in tools/guards/unused.py why it stays",
            )
    if tree.has(OWN):
        for entry in allowed:
            yield Fault(OWN, 1, f"ALLOWED has {entry}, which is gone or used by more than tests")


def _uncalled(callers, header, text):
    declared = {}
    for line, name, is_member in declarations(text):
        declared.setdefault((name, is_member), []).append(line)
    files = callers.may_call(header)
    for (name, is_member), lines in declared.items():
        if name in _BY_OTHERS:
            continue
        if not callers.call(name, header, len(lines), is_member, files):
            yield lines[0], name, f"{name}()"


def _unnamed(callers, header, text):
    own = header.removesuffix(".h") + ".cc"
    for line, name in types(text):
        users = callers.reach.get(header, set()) - {header, own}
        if any(callers.uses[user].get(name) for user in users):
            continue
        # In its own source a type may be made for those who know only its base.
        if not re.search(rf"\b{name}\b(?!::)", callers.code(own)):
            yield line, name, name

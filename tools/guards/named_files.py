"""Every file of ours that a comment or a document names exists."""

import ast
import io
import re
import tokenize
from fnmatch import fnmatch
from pathlib import Path

from guards import cpp
from guards.tree import Fault

# A name with one of our endings, or a path below a folder of the top.
NAMED = re.compile(
    r"(?<![\w./~<>$%{}=-])"
    r"(?P<path>(?:[\w.*-]+/)*[\w*-]+\.(?:h|cc|py|md|proto|cmake)\b(?![\w/(]|\.\w)"
    r"|(?:tools|docs|tests|bench|examples|millrace|\.ci)/[\w.*/-]*[\w*/])"
)

# What may be named though it is not here.
NOT_HERE = [
    # Builds make it.
    "gen_ops.py",
    "ops.h",
    "*.pb.h",
    # It is of others: TensorFlow's tests, headers of protobuf and OpenSSL.
    "*/tensorflow/python/*.py",
    "fifo_queue_test.py",
    "map_field.h",
    "openssl/evp.h",
    # It stands for any program that a user may write, or mistype.
    "x.py",
    "trian.py",
]


def _python_prose(text, file):
    """Comments and docstrings of a Python file."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, IndentationError):
        return
    all_lines = text.splitlines()
    for node in ast.walk(ast.parse(text, str(file))):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            literal = node.body[0].value
            yield from enumerate(all_lines[literal.lineno - 1 : literal.end_lineno], literal.lineno)


def _hash_prose(text):
    for number, line in enumerate(text.splitlines(), 1):
        if mark := re.search(r"(?:^|\s)#", line):
            yield number, line[mark.start() :]


def prose(tree, file):
    """The lines of a file that are written for people, as (number, text)."""
    text = tree.text(file)
    if file.suffix in (".h", ".cc", ".proto"):
        return cpp.comments(text)
    if file.suffix == ".md":
        return enumerate(text.splitlines(), 1)
    first = text.split("\n", 1)[0]
    if file.suffix == ".py" or (first.startswith("#!") and "python" in first):
        return _python_prose(text, file)
    if (
        file.suffix == ".cmake"
        or file.name in ("CMakeLists.txt", "Makefile")
        or first.startswith("#!")
    ):
        return _hash_prose(text)
    return []


class Names:
    """What exists, by every ending of its path: "graph/graph.h" names "millrace/graph/graph.h"."""

    def __init__(self, tree):
        self.endings = set()
        for file in tree.names | tree.folders:
            parts = Path(file).parts
            self.endings |= {"/".join(parts[start:]) for start in range(len(parts))}

    def has(self, path):
        path = path.rstrip("/")
        if "*" not in path:
            return path in self.endings
        pattern = re.compile(re.escape(path).replace(r"\*", "[^/]*"))
        return any(pattern.fullmatch(ending) for ending in self.endings)


def check(tree):
    names = Names(tree)
    for file in tree.files:
        if file.name == "CHANGELOG.md":
            continue  # it tells of what was
        for number, line in prose(tree, file):
            for match in NAMED.finditer(line):
                path = match["path"]
                if names.has(path) or any(fnmatch(path, known) for known in NOT_HERE):
                    continue
                yield Fault(file, number, f"names '{path}', which does not exist")

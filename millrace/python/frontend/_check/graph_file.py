"""The ops of a graph in a file: a GraphDef, as bytes or as text."""

import re

from millrace import _millrace
from millrace._values.message_parts import BYTES, fields

# Field numbers of GraphDef, FunctionDefLibrary, FunctionDef, OpDef and NodeDef.
_NODE, _LIBRARY, _FUNCTION, _SIGNATURE, _NODE_DEF, _NAME, _OP = 1, 2, 1, 1, 3, 1, 2


def is_graph(data):
    """Whether the bytes of a file are those of a GraphDef rather than of a program."""
    if re.match(rb"\s*(#[^\n]*\n\s*)*(node|library|versions)\s*:?\s*[{<]", data):
        return True
    return data[:1] in (b"\n", b"\x12", b'"') and _is_binary(data)


def _is_binary(data):
    try:
        _millrace.check_graph_def(data)
    except ValueError:
        return False
    return any(byte < 9 for byte in data[:4096])


def nodes(data):
    """[(name of the node, its op)] of a GraphDef, and the names of its functions.

    Raises:
      ValueError: if the bytes are none, or the text makes no sense.
    """
    if re.match(rb"\s*[#a-z]", data):
        return _nodes_of_text(data.decode("utf-8"))
    _millrace.check_graph_def(data)
    return _nodes_of_bytes(data)


def _nodes_of_bytes(data):
    made = [_name_and_op(node) for node in _fields(data, _NODE)]
    functions = set()
    for library in _fields(data, _LIBRARY):
        for function in _fields(library, _FUNCTION):
            for signature in _fields(function, _SIGNATURE):
                functions.update(name.decode() for name in _fields(signature, _NAME))
            made += [_name_and_op(node) for node in _fields(function, _NODE_DEF)]
    return made, functions


def _name_and_op(node):
    name, op = (b"".join(_fields(node, field)).decode() for field in (_NAME, _OP))
    return name, op


def _fields(data, wanted):
    """The contents of the fields of a message that have a length and this number."""
    return [held for number, kind, held in fields(data) if (number, kind) == (wanted, BYTES)]


_TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')|(?P<word>[\w.+-]+)|(?P<sign>[{}<>:\[\],;])'
)


def _nodes_of_text(text):
    """As nodes, of TensorFlow's text form."""
    made, functions, path, node = [], set(), [], {}
    word, at = "", 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line}: no GraphDef in text form: {text[at : at + 20]!r}")
        at = token.end()
        if token["word"]:
            word = token["word"]
        elif token["text"] and path[-1:] in (["node"], ["node_def"], ["signature"]):
            if path == ["library", "function", "signature"] and word == "name":
                functions.add(token["text"][1:-1])
            elif word in ("name", "op"):
                node.setdefault(word, token["text"][1:-1])
        elif token["sign"] in ("{", "<"):
            path.append(word)
            if path in (["node"], ["library", "function", "node_def"]):
                node = {}
        elif token["sign"] in ("}", ">"):
            if not path:
                raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: a bracket closes nothing")
            if path in (["node"], ["library", "function", "node_def"]):
                made.append((node.get("name", ""), node.get("op", "")))
            path.pop()
    if path:
        raise ValueError(f"the text ends inside of '{'.'.join(path)}'")
    return made, functions


def missing_ops(data):
    """{op: [names of its nodes]} of the ops of a graph that are not here, and how many ops it has."""
    found, functions = nodes(data)
    used = {}
    for name, op in found:
        if op not in functions:
            used.setdefault(op, []).append(name)
    missing = {op: names for op, names in used.items() if _millrace.ops.describe(op) is None}
    return missing, len(used)

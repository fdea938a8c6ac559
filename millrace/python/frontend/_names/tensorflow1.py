"""What TensorFlow 1.15 has, read from a list of its names when one is asked for that is not here.

Modules are named without "tf" or "tensorflow" at their head: "" is tf itself, "train", "contrib.rnn",
"python.framework.ops".
"""

import functools
import re
from pathlib import Path


@functools.cache
def _text():
    """The list, a line per module."""
    listed = Path(__file__).with_name("tensorflow1.names").read_text("utf-8")
    return "\n" + listed.replace("\n ", " ") + "\n"


def _line(key):
    """The words of a module's line, or None."""
    text = _text()
    start = text.find(f"\n{key}:")
    if start < 0:
        return None
    return text[start + len(key) + 2 : text.index("\n", start + 1)].split()


@functools.cache
def names(module):
    """{name: under which public path TensorFlow has it} of a module; None if there is no such module."""
    public = _line(f"tf.{module}" if module else "tf")
    if public is not None:
        return {name: f"{module}.{name}" if module else name for name in public}
    if module.partition(".")[0] not in ("python", "contrib", "examples"):
        return None
    inner = _line(module)
    return None if inner is None else dict(map(_home, inner))


def _home(word):
    name, is_elsewhere, home = word.partition("=")
    if not is_elsewhere:
        return name, name
    return name, home + name if home.endswith(".") else home


def is_inner_module(module):
    """Whether it is a module inside TensorFlow, not one that its public interface has."""
    return bool(module) and names(module) is not None and _line(f"tf.{module}") is None


def has(path):
    """Whether TensorFlow 1.15 has a name or module of this path."""
    module, _, name = path.rpartition(".")
    return name in (names(module) or ()) or names(path) is not None


def has_op(op):
    """Whether TensorFlow 1.15 has an op of this name."""
    return op in names("raw_ops")


def places(name):
    """The public paths that end in this name, those with the fewest dots first."""
    pattern = (
        rf"\ntf(?:\.([\w.]+))?:(?= |.* {re.escape(name)}[ \n])[^\n]* {re.escape(name)}(?=[ \n])"
    )
    found = [f"{module}.{name}" if module else name for module in re.findall(pattern, _text())]
    return sorted(found, key=lambda path: (path.startswith("contrib"), path.count("."), path))

"""What is said of names that a program asks for and that are not here. Loaded when one is."""

import difflib
import sys

from millrace._names import tensorflow1
from millrace._names.before_1_0 import RENAMED
from millrace._names.finder import real_module
from millrace._names.instead import instead

_PACKAGE = __name__.partition(".")[0]
_TOLD = "`millrace check PROGRAM.py` lists all that a program lacks."


def missing_name(module, name):
    """The AttributeError for a name that a module lacks; `module` by its full name."""
    path = f"{module}.{name}".partition(".")[2]
    text = f"module '{module}' has no attribute '{name}'"
    if not name.startswith("_"):
        text += _ending(path)
    # With a name but no object, the interpreter adds no guesses of its own.
    return AttributeError(text, name=name)


def missing_module(path):
    """The ModuleNotFoundError for a path below the package ("contrib.seq2seq", "nn.conv2d")."""
    # Without its name: `from millrace.nn import conv2d` would drop an error that names the module, and
    # put words of its own in its place.
    return ModuleNotFoundError(f"no module or name '{_PACKAGE}.{path}'{_ending(path)}")


def _ending(path):
    verdict = Verdict(path)
    if verdict.kind == "unknown":
        return f"; did you mean {verdict.instead}?" if verdict.instead else ""
    shown, version = _shown(path), f"Millrace {sys.modules[_PACKAGE].__version__}"
    if verdict.kind == "old":
        text = f"{shown} is from before TensorFlow 1.0, which has {verdict.instead} in its place"
    elif verdict.kind == "inside":
        text = f"{shown} is inside TensorFlow, with no public name; {version} has no such thing"
    else:
        text = f"TensorFlow 1 has {shown}, {version} does not yet"
    if verdict.instead and verdict.kind != "old":
        text += f"; instead: {verdict.instead}"
    return f": {text}. {_TOLD}"


class Verdict:
    """What is known of a name that is not here, by its path below the package ("train.Saver").

    Attributes:
      kind: "tensorflow" (1.15 has it), "inside" (it may, in a module of its own), "old" (it had, before
        1.0) or "unknown".
      instead: what to use, or for an unknown name what may have been meant; may be empty.
    """

    def __init__(self, path):
        if path in RENAMED:
            self.kind, self.instead = "old", RENAMED[path]
        elif tensorflow1.has(path):
            self.kind, self.instead = "tensorflow", _elsewhere(path) or instead(path)
        elif tensorflow1.is_inner_module(path.rpartition(".")[0]):
            self.kind, self.instead = "inside", instead(path)
        else:
            self.kind, self.instead = "unknown", " or ".join(near_names(path))


def _shown(path):
    """As programs write it."""
    return f"tensorflow.{path}" if "python." in path else f"tf.{path}"


def _is_here(path):
    module, _, name = path.rpartition(".")
    holder = real_module(module)
    if holder is None:
        return False
    return name in dir(holder) or real_module(path) is not None


def _elsewhere(path):
    """Where the same name is here: "tf.nn.rnn_cell.LSTMCell" for contrib's; "" if nowhere."""
    name = path.rpartition(".")[2]
    home = (tensorflow1.names(path.rpartition(".")[0]) or {}).get(name)
    for other in [home, *tensorflow1.places(name)]:
        # A name in a quite different module is mostly a different thing.
        if other and other != path and _is_kin(path, other) and _is_here(other):
            return f"tf.{other}"
    return ""


# Modules whose names mean the same where they are alike.
_KIN = [
    {"", "math", "nn", "linalg", "random", "strings", "debugging", "dtypes", "manip", "io"},
    {"nn.rnn_cell", "contrib.rnn"},
    {"contrib.layers", "contrib.slim", "contrib.framework"},
    {"initializers", "keras.initializers", ""},
]


def _is_kin(path, other):
    mine, its = path.rpartition(".")[0], other.rpartition(".")[0]
    inside = mine.startswith("python.") or ".python" in mine
    return inside or any(mine in group and its in group for group in _KIN)


def near_names(path):
    """What a program may have meant by a name that neither TensorFlow nor this package has."""
    module, _, name = path.rpartition(".")
    holder = real_module(module)
    if holder is None:
        return [f"tf.{module}.{name}"] if _is_here(f"{module}.{name}") else []
    same = [place for place in tensorflow1.places(name) if _is_here(place)]
    if same:
        others = [place for place in same[1:2] if not place.startswith(("contrib", "keras"))]
        return [f"tf.{place}" for place in [same[0], *others]]
    prefix = f"tf.{module}." if module else "tf."
    here = [known for known in dir(holder) if not known.startswith("_")]
    return [prefix + other for other in difflib.get_close_matches(name, here, 3, 0.75)]

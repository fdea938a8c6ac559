"""What the names of a program stand for, as far as that is TensorFlow's: read, not run."""

import ast

ROOTS = ("tensorflow", "tensorflow_core", "millrace")


def tensorflow_path(module):
    """The path below TensorFlow of a module's full name, "" for itself; None if it is another's."""
    root, _, path = module.partition(".")
    return without_compat(path) if root in ROOTS else None


def without_compat(path):
    """A path without compat.v1 at its head: the names are the same."""
    if path == "compat.v1":
        return ""
    return path.removeprefix("compat.v1.")


def joined(path, name):
    return without_compat(f"{path}.{name}" if path else name)


def imported(node):
    """What an import of TensorFlow binds and asks for.

    Returns:
      a list of (name that is bound, the path it stands for, the path that is asked for).
    """
    made = []
    if isinstance(node, ast.Import):
        for alias in node.names:
            path = tensorflow_path(alias.name)
            if path is None:
                continue
            if alias.asname:
                made.append((alias.asname, path, path))
            else:
                made.append((alias.name.partition(".")[0], "", path))
    elif not node.level:
        path = tensorflow_path(node.module)
        if path is None:
            return made
        for alias in node.names:
            if alias.name == "*":
                made.append((None, path, path))
            else:
                whole = joined(path, alias.name)
                made.append((alias.asname or alias.name, whole, whole))
    return made


class Scopes:
    """The names that stand for something of TensorFlow's, in nested scopes; innermost last."""

    def __init__(self, module_names):
        self._levels = [module_names]

    def enter(self, parameters):
        """A function begins: its parameters stand for other things."""
        self._levels.append(dict.fromkeys(parameters))

    def leave(self):
        self._levels.pop()

    def bind(self, name, path):
        """From here on a name stands for a path; None for something else."""
        if path is not None or self.path_of_name(name) is not None:
            self._levels[-1][name] = path

    def path_of_name(self, name):
        for level in reversed(self._levels):
            if name in level:
                return level[name]
        return None

    def path_of(self, node):
        """The path that an expression stands for, such as that of tf.train.Saver, or None."""
        if isinstance(node, ast.Name):
            return self.path_of_name(node.id)
        if isinstance(node, ast.Attribute):
            path = self.path_of(node.value)
            return None if path is None else joined(path, node.attr)
        return None

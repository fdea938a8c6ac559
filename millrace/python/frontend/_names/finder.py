"""How modules of this package are found, and what those say that are asked for a name they lack.

Every public module answers for its missing names, and every path below the package for its missing
modules: `missing.py` has the words, and is loaded only then. `millrace.python` and what else is inside
TensorFlow are modules made on the spot, which find under public names what programs ask them for.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

from millrace._names import before_1_0

_PACKAGE = __name__.partition(".")[0]
_INSIDE = ("python", "contrib", "examples")


def missing_name(module, name):
    """The AttributeError for a name that a module (by its full name) lacks."""
    return import_module(f"{_PACKAGE}._names.missing").missing_name(module, name)


def old_name(module, name):
    """What a name that a module (by its full name) lacks stands for, if it is from before TensorFlow 1.0.

    Raises:
      AttributeError: for others.
    """
    path = f"{module}.{name}".partition(".")[2]
    if before_1_0.has(path):
        return before_1_0.found(path)
    raise missing_name(module, name)


def real_module(path):
    """The public module at a path below the package ("nn", "contrib.layers"), or None."""
    whole = f"{_PACKAGE}.{path}" if path else _PACKAGE
    if whole in sys.modules:
        return sys.modules[whole]
    parent = real_module(path.rpartition(".")[0])
    if parent is None or PathFinder.find_spec(whole, parent.__path__) is None:
        return None
    return import_module(whole)


class _Source(SourceFileLoader):
    """Loads a public module; it will say well what it lacks."""

    def exec_module(self, module):
        super().exec_module(module)

        def missing(name):
            return old_name(module.__name__, name)

        vars(module).setdefault("__getattr__", missing)


class _Inside:
    """Makes a module that is inside TensorFlow: it has nothing of its own."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        path = module.__name__.partition(".")[2]

        def find(name):
            return import_module(f"{_PACKAGE}._names.inside").find(path, name)

        module.__doc__ = f"tensorflow.{path}: what this package has of it, under its public names."
        module.__getattr__ = find


class _Alias:
    """Gives a module that is there already under another name."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec


class _Finder:
    """Asked for all modules of the package but the private ones.

    Attributes:
      other_names: what else the package is imported as ("tensorflow").
    """

    def __init__(self):
        self.other_names = set()

    def find_spec(self, name, path=None, target=None):
        package, _, inner = name.partition(".")
        if not inner or inner.startswith("_") or inner.endswith(".__main__"):
            return None  # what `python3 -m` runs is a program, and must not look like a package
        if package in self.other_names:
            if inner == "compat.v1":
                return ModuleSpec(name, _Alias(package))
            return ModuleSpec(name, _Alias(f"{_PACKAGE}.{inner}"))
        if package != _PACKAGE:
            return None
        if inner.startswith("compat.v1."):
            return ModuleSpec(name, _Alias(f"{_PACKAGE}.{inner.removeprefix('compat.v1.')}"))
        found = PathFinder.find_spec(name, path)
        if found is not None:
            # A package, even if it is one file: so the import system asks here for what is below.
            found.loader = _Source(name, found.origin)
            found.submodule_search_locations = found.submodule_search_locations or []
            return found
        missing = import_module(f"{_PACKAGE}._names.missing")
        if inner.partition(".")[0] in _INSIDE and missing.tensorflow1.is_inner_module(inner):
            return ModuleSpec(name, _Inside(), is_package=True)
        raise missing.missing_module(inner)


def install():
    """Has all imports of this package come by here; gives what does it, the same one each time."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            return finder
    sys.meta_path.insert(0, _Finder())
    return sys.meta_path[0]

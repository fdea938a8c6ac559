"""Imports that TensorFlow's repository resolves and its wheel does not."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

from tasks import free_ports

# Where the wheel keeps what the repository has elsewhere.
_MOVED = {"xla.tsl.": ["tensorflow.compiler.xla.tsl.", "tensorflow.tsl."]}


class _Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds xla.tsl.protobuf.x_pb2 where the wheel has it."""

    def find_spec(self, name, path=None, target=None):
        if not any((name + ".").startswith(old) or old.startswith(name + ".") for old in _MOVED):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        for old, homes in _MOVED.items():
            for home in homes if spec.name.startswith(old) else []:
                try:
                    return importlib.import_module(home + spec.name[len(old) :])
                except ModuleNotFoundError:
                    pass
        return types.ModuleType(spec.name)  # a package on the way, or one that nothing is in

    def exec_module(self, module):
        pass


class _Checkout(importlib.abc.MetaPathFinder):
    """Finds modules of the package `tensorflow` in a checkout, where the wheel lacks them."""

    def __init__(self, root):
        self._root = root

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("tensorflow."):
            return None
        folder = os.path.join(self._root, *name.split(".")[:-1])
        return importlib.machinery.PathFinder.find_spec(name, [folder])


def _portpicker():
    made = types.ModuleType("portpicker")
    made.NoFreePortFoundError = type("NoFreePortFoundError", (Exception,), {})
    made.pick_unused_port = lambda *_, **__: free_ports(1)[0]
    made.is_port_free = lambda port: True
    made.return_port = made.add_reserved_port = lambda port: None
    return made


def before_tensorflow():
    """What TensorFlow itself asks for while it is imported, as its first version did."""
    if importlib.util.find_spec("portpicker") is None:
        sys.modules["portpicker"] = _portpicker()


def install(checkout):
    """checkout: the folder that holds TensorFlow's `tensorflow/`, or None."""
    sys.meta_path.append(_Moved())
    if checkout:
        sys.meta_path.append(_Checkout(checkout))

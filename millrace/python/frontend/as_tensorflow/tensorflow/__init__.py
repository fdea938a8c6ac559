"""Millrace under the name of TensorFlow, for programs that can't be edited.

With the folder above this one on PYTHONPATH, `import tensorflow as tf` and all imports below it find
Millrace: the same modules as `import millrace as tf`. __version__ is that of the TensorFlow whose names and
behaviour programs meet here, because they ask it what they may use; millrace.__version__ is our own.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

# Where this file lies, the package lies around it.
_folder = str(Path(__file__).parents[3])
if _folder not in sys.path:
    sys.path.append(_folder)
_millrace = import_module("millrace")
import_module("millrace._names.finder").install().other_names.add(__name__)

__version__ = VERSION = "1.15.5"
version = ModuleType(f"{__name__}.version", "The version whose names and behaviour are here.")
vars(version).update(
    {name: value for name, value in vars(_millrace.version).items() if name.isupper()},
    VERSION=VERSION,
)
sys.modules[version.__name__] = version
__all__ = [name for name in dir(_millrace) if not name.startswith("_")]


def __getattr__(name):
    return getattr(_millrace, name)


def __dir__():
    return sorted({*__all__, "__version__"})

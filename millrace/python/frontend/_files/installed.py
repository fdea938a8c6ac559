"""Where what programs in C++ need is installed: headers, and static libraries."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_LACKING = (
    "{what} of Millrace are not installed around '{package}': the package libmillrace-dev has them, and so has "
    "`cmake --install` of a build (component `development`). Programs in C++ use find_package(Millrace)"
)


def headers_folder(package=_PACKAGE):
    """The folder with Millrace's headers for C++, as a string: what `#include "millrace/..."` looks into.

    Args:
      package: the folder of the Python package, below the prefix of the installation.

    Raises:
      FileNotFoundError: if headers are not installed with it.
    """
    for prefix in package.parents:
        if (prefix / "include/millrace/graph/graph.h").is_file():
            return str(prefix / "include")
    raise FileNotFoundError(_LACKING.format(what="headers", package=package))


def libraries_folder(package=_PACKAGE):
    """The folder with Millrace's static libraries, as a string.

    Args, errors: as for headers_folder.
    """
    prefix = Path(headers_folder(package)).parent
    for found in sorted(prefix.glob("lib*/**/libmillrace_graph.a")):
        return str(found.parent)
    raise FileNotFoundError(_LACKING.format(what="libraries", package=package))

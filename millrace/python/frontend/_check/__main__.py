"""python3 -m millrace._check FILE ...: what `millrace check` runs."""

import os
import sys
from pathlib import Path

from millrace._check import graph_file, report

_MISSING, _MISUSED = 1, 2


def _shown(path):
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _check(path):
    """Prints the report on a file; the exit code for it."""
    try:
        data = path.read_bytes()
        if graph_file.is_graph(data):
            made = report.of_graph(path, data, _shown)
        else:
            made = report.of_program(path, _shown)
    except OSError as error:
        print(f"millrace check: can't read '{path}': {error.strerror}", file=sys.stderr)
        return _MISUSED
    except SyntaxError as error:
        print(
            f"{_shown(error.filename)}:{error.lineno}: no Python 3: {error.msg}. If it is Python 2, "
            "2to3 -w translates it",
            file=sys.stderr,
        )
        return _MISUSED
    except ValueError as error:
        print(f"millrace check: '{path}': {error}", file=sys.stderr)
        return _MISUSED
    for line in made.lines:
        print(line)
    return 0 if made.is_complete else _MISSING


def main(arguments):
    """The exit code for some files: 0 nothing is missing, 1 something is, 2 one can't be checked."""
    return max([_check(Path(argument)) for argument in arguments], default=_MISUSED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:] if sys.argv[1:2] == ["--"] else sys.argv[1:]))

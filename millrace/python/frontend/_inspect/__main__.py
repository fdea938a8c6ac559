"""python3 -m millrace._inspect PATH ...: what `millrace inspect` runs."""

import argparse
import sys

from millrace._inspect import kinds
from millrace._values import errors

_DIFFERENT, _MISUSED = 1, 2


def _arguments(words):
    parser = argparse.ArgumentParser(prog="millrace inspect")
    parser.add_argument("path")
    parser.add_argument("--compare", metavar="OTHER")
    parser.add_argument("--tolerance", type=float, default=0.0)
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--nodes", action="store_true")
    return parser.parse_args(words)


def _lines(found, options):
    """What to print of a thing: what was asked for, or a list of all."""
    if options.name:
        return found.printed(options.name)
    if options.nodes:
        if not hasattr(found, "nodes"):
            raise ValueError(f"'{found.path}' is a {found.kind}, which has no nodes")
        return found.nodes()
    return found.listed()


def _compare(found, options):
    other = kinds.opened(options.compare)
    if found.kind != other.kind:
        raise ValueError(
            f"'{found.path}' is a {found.kind}, '{other.path}' a {other.kind}: they can't be compared"
        )
    is_same = True
    for line in found.compared(other, options.tolerance):
        is_same = False
        print(line)
    if is_same:
        print("no difference")
    return 0 if is_same else _DIFFERENT


def main(words):
    """The exit code: 0 it was told, and no difference found; 1 they differ; 2 it can't be read."""
    options = _arguments(words)
    try:
        found = kinds.opened(options.path)
        if options.compare is not None:
            return _compare(found, options)
        if not options.name:
            print(f"{found.path}: {found.kind}")
        for line in _lines(found, options):
            print(line)
    except BrokenPipeError:
        sys.stderr.close()  # who read has seen enough
        return 0
    except errors.OpError as error:
        print(f"millrace inspect: {error.message}", file=sys.stderr)
        return _MISUSED
    except KeyError as error:
        print(f"millrace inspect: {error.args[0]}", file=sys.stderr)
        return _MISUSED
    except OSError as error:
        what = f"can't read '{error.filename}': {error.strerror}" if error.filename else error
        print(f"millrace inspect: {what}", file=sys.stderr)
        return _MISUSED
    except ValueError as error:
        print(f"millrace inspect: {error}", file=sys.stderr)
        return _MISUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The list of checks, and of the faults that are known and not mended yet."""

from pathlib import Path

from guards import classes, dependencies, floors, frontend, host, named_files, shape, unused
from guards.tree import Fault

CHECKS = {
    "floors": floors.check,
    "depends": dependencies.check,
    "frontend": frontend.check,
    "host": host.check,
    "sizes": shape.check_sizes,
    "names": shape.check_names,
    "readmes": shape.check_readmes,
    "parts": shape.check_parts,
    "classes": classes.check,
    "named-files": named_files.check,
    "unused": unused.check,
}


class KnownFaults:
    """The lines `file:check: message` of known_faults.txt; others are blank or begin with '#'."""

    FILE = Path("tools/guards/known_faults.txt")

    def __init__(self, tree):
        self.met = 0
        self._left = {}  # fault: number of its line
        if tree.has(self.FILE):
            for number, line in enumerate(tree.text(self.FILE).splitlines(), 1):
                if line.strip() and not line.startswith("#"):
                    self._left[line.strip()] = number
        self._known = frozenset(self._left)

    def unknown(self, check, faults):
        """Those of the faults that the list doesn't have."""
        for fault in faults:
            line = f"{fault.file}:{check}: {fault.message}"
            if line in self._known:
                self.met += 1
                self._left.pop(line, None)
            else:
                yield fault

    def gone(self, checks):
        """A fault for each line of the list that none of these checks has met."""
        for line, number in self._left.items():
            check = line.partition(":")[2].partition(":")[0]
            if check in checks or check not in CHECKS:
                yield Fault(self.FILE, number, f"is mended, so take it off the list: {line}")


def faults_of(tree, checks):
    """What these checks find, without the known faults, and how many of those there are."""
    known, faults = KnownFaults(tree), []
    for check in checks:
        found = sorted(CHECKS[check](tree), key=lambda fault: (str(fault.file), fault.line))
        faults += known.unknown(check, found)
    return faults + list(known.gone(checks)), known.met

"""What a program or a library asks of the loader, and where the loader finds it here."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from packages.refusal import Refused, run


@dataclass(frozen=True)
class Asks:
    """What one file asks of the loader."""

    soname: str = ""
    libraries: tuple = ()
    found_by: str = ""  # where it says that they are: "$ORIGIN/lib:..."
    # Of all libraries together: "GLIBC_2.34", "GLIBCXX_3.4.30".
    versions: frozenset = field(default_factory=frozenset)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def asks_in(text):
    """Asks, from what `objdump -p` says."""
    soname = re.search(r"^\s+SONAME\s+(\S+)", text, re.MULTILINE)
    found_by = re.search(r"^\s+R(?:UN)?PATH\s+(\S+)", text, re.MULTILINE)
    references = text.partition("Version References:")[2]
    return Asks(
        soname[1] if soname else "",
        tuple(re.findall(r"^\s+NEEDED\s+(\S+)", text, re.MULTILINE)),
        found_by[1] if found_by else "",
        frozenset(re.findall(r"^\s+0x\w+ 0x\w+ \d+ (\S+)", references, re.MULTILINE)),
    )


def asks_of(path):
    return asks_in(run(["objdump", "-p", path], f"read what {path} needs"))


def newest(versions, family):
    """The highest of "GLIBC_2.34" and its like as a tuple of numbers; () if there is none."""
    found = [re.fullmatch(rf"{family}_([0-9.]+)", version) for version in versions]
    return max((tuple(map(int, hit[1].split("."))) for hit in found if hit), default=())


def found_in(text, path):
    """{soname: path} of the libraries that a file needs, directly or not, from what ldd says of it;
    the loader itself stands by its path. Refused if one is not there."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if "not found" in line:
            raise Refused(f"{path} needs {words[0]}, which is not there; install its package")
        if len(words) > 2 and words[1] == "=>" and words[2].startswith("/"):
            found[words[0]] = Path(words[2])
        elif words and words[0].startswith("/"):
            found[words[0]] = Path(words[0])
    return found


def libraries_of(path):
    # For what is linked statically ldd fails, and there is nothing to find.
    done = subprocess.run(["ldd", path], capture_output=True, text=True)
    return found_in(done.stdout, path)


def loaded_by_name(soname):
    """Where the loader finds a library that nothing links; None if it is not here."""
    for line in run(["/sbin/ldconfig", "-p"], "list the libraries of this machine").splitlines():
        words = line.split()
        if words[:1] == [soname]:
            return Path(words[-1])
    return None

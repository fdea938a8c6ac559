"""Makes programs and modules carry the libraries that they need: in one folder beside them, found from
where they are, under names that no library of the system has.

The names matter: the loader takes a library that is loaded already for every other of its name. With
its own name OpenSSL would be the one that Python's ssl module has loaded before, or the one that it gets
from us; ours are called after their content, so neither happens.
"""

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from packages import elf
from packages.refusal import Refused, run

GLIBC = {
    *("libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "librt.so.1"),
    *("libpthread.so.0", "libresolv.so.2"),
    *("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"),
}
# As for every wheel with a manylinux tag. A process should have one of each: an older libstdc++ of ours that
# comes first would keep out the modules of others that need a newer one.
COMPILERS = {"libstdc++.so.6", "libgcc_s.so.1"}
LEFT_TO_THE_SYSTEM = GLIBC | COMPILERS


@dataclass(frozen=True)
class Program:
    """A program or module that has been copied to where it may be changed."""

    path: Path
    # Where its libraries are, seen from its own folder; several if that depends on how it is installed.
    libraries: tuple


def own_name(soname, content):
    """libgrpc.so.29 -> libgrpc-1a2b3c4d.so.29."""
    stem, so, version = re.fullmatch(r"(.+?)(\.so)(.*)", soname).groups()
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:8]}{so}{version}"


def bundle(programs, by_name, folder, beside=()):
    """Copies into `folder` what the programs need of libraries, those that they load by name too
    (`by_name`; these keep their names), and changes all so that they find each other. Libraries look
    in `beside`, too, seen from there, for what they load by name. Returns {soname: where it was}.
    """
    sources = {}
    for soname in by_name:
        path = elf.loaded_by_name(soname)
        if path is None:
            raise Refused(f"{soname} is not here, which the programs load on first use")
        sources[soname] = path
    for path in [program.path for program in programs] + list(sources.values()):
        sources.update(elf.libraries_of(path))
    sources = {
        soname: path
        for soname, path in sorted(sources.items())
        if Path(soname).name not in LEFT_TO_THE_SYSTEM and "vdso" not in soname
    }
    names = {
        soname: soname if soname in by_name else own_name(soname, path.read_bytes())
        for soname, path in sources.items()
    }
    folder.mkdir(parents=True)
    for soname, path in sources.items():
        made = folder / names[soname]
        shutil.copyfile(path, made)
        made.chmod(0o644)
        _patch(made, names, ("", *beside), names[soname])
    for program in programs:
        _patch(program.path, names, program.libraries)
    return sources


def _patch(path, names, libraries, soname=None):
    asked = [name for name in elf.asks_of(path).libraries if name in names]
    changes = [[word for name in asked for word in ("--replace-needed", name, names[name])]]
    if soname:
        changes.append(["--set-soname", soname])
    found_by = ":".join("$ORIGIN/" + place if place else "$ORIGIN" for place in libraries)
    changes.append(["--set-rpath", found_by])
    # One at a time: patchelf 0.14 writes the names of different changes over each other.
    for words in filter(None, changes):
        run(["patchelf", *words, path], f"tell {path.name} where its libraries are")
    if elf.asks_of(path).found_by != found_by:
        raise Refused(f"patchelf did not tell {path.name} to look in {found_by}")


def demands(files):
    """What a set of files that are installed together asks of a system: all libraries that are not among
    them, and the versions of their symbols. Refused if they ask for more than glibc and what every
    compiler brings."""
    asks = {file: elf.asks_of(file) for file in files}
    here = {ask.soname or file.name for file, ask in asks.items()} | {file.name for file in files}
    outside, versions = set(), set()
    for file, ask in asks.items():
        versions |= ask.versions
        for library in set(ask.libraries) - here:
            if library not in LEFT_TO_THE_SYSTEM:
                raise Refused(
                    f"{file.name} would need {library} of the system: not every system has it"
                )
            outside.add(library)
    return outside, versions


def owners(paths):
    """{Debian package: a file of it} of system files, as far as packages own them."""
    names = {path.name for path in paths} | {path.resolve().name for path in paths}
    # Asked by name: what a package has in /usr/lib is found in /lib too, and dpkg knows only one of them.
    done = subprocess.run(
        ["dpkg-query", "-S", *(f"*/{name}" for name in sorted(names))],
        capture_output=True,
        text=True,
    )
    real = {path.resolve() for path in paths}
    found = {}
    for line in done.stdout.splitlines():
        package, _, path = line.partition(": ")
        if Path(path).resolve() in real:
            found[package.split(":")[0].split(",")[0]] = path
    return found


def licences(paths):
    """{Debian package: its copyright file} of the libraries that a package of ours carries along."""
    found = {}
    for package in owners(paths):
        file = Path("/usr/share/doc", package, "copyright")
        if not file.exists():
            raise Refused(f"{package} has no {file}: what we ship of it must come with its licence")
        found[package] = file
    return found


def licences_inside(staged):
    """{Debian package: its copyright file} of what programs and modules of ours were compiled or linked
    from, as the build installs them below `staged` (tools/cmake/packages.cmake)."""
    return {
        file.name.removeprefix("copyright."): file
        for file in sorted(staged.rglob("share/doc/*/copyright.*"))
    }

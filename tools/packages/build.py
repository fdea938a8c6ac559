"""What there is to pack: the finished build in build/, its version, and the parts that its install rules know."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from packages.refusal import Refused, run

# Below a prefix, as millrace/python/CMakeLists.txt has it by default.
PYTHON_DIR = "lib/python3/dist-packages"


@dataclass(frozen=True)
class Build:
    root: Path  # of the repository
    folder: Path
    version: str  # of project(VERSION) in the top CMakeLists.txt
    summary: str
    epoch: int  # seconds: the time that all files in packages have
    onednn: str  # the name by which the programs load oneDNN

    @property
    def python(self):
        """The interpreter that the module is for."""
        return self.folder / "bin" / "python3"

    def stage(self, place, *components):
        """Installs components of the build below `place`, without debug lines; what was there goes.
        Refused if links lead out of there, to what an installed package would not have."""
        if place.exists():
            shutil.rmtree(place)
        for component in components:
            run(
                ["cmake", "--install", self.folder, "--prefix", place]
                + ["--component", component, "--strip"],
                f"install the component '{component}' of {self.folder}",
            )
        for file in place.rglob("*"):
            if file.is_symlink() and place.resolve() not in file.resolve().parents:
                raise Refused(f"the install rules made {file} a link to {os.readlink(file)}")

    def stage_together(self, place):
        """The same of the command and the Python package, with what both have in common once, in a
        library that they find from where they are (tools/cmake/together.cmake)."""
        run(
            ["cmake", "--build", self.folder, "--target", "millrace_together"],
            "link what the command and the module have in common",
        )
        # The last takes the places of what the others have by themselves.
        self.stage(place, "command", "python", "together")


def find(root):
    """The build in root/build. Refused if it is not there, or is one for other purposes."""
    folder = root / "build"
    cache = folder / "CMakeCache.txt"
    needed = [cache, folder / "bin" / "millrace", folder / "python" / "millrace"]
    for path in needed:
        if not path.exists():
            raise Refused(f"there is no {path.relative_to(root)}: run `make build` first")
    said = variables_in(cache.read_text())
    if said.get("MILLRACE_SANITIZE"):
        raise Refused("build/ is made with sanitizers, which packages can't have: run `make build`")
    return Build(
        root,
        folder,
        said["CMAKE_PROJECT_VERSION"],
        said["CMAKE_PROJECT_DESCRIPTION"],
        _epoch(root),
        _onednn(Path(said["MILLRACE_HAS_oneapi/dnnl/dnnl.h"])),
    )


def variables_in(cache):
    """{name: value} of a CMakeCache.txt."""
    return dict(re.findall(r'^"?([^"#/\n][^:"\n]*)"?:\w+=(.*)$', cache, re.MULTILINE))


def _epoch(root):
    """SOURCE_DATE_EPOCH, or when the commit was made, or the first day that a zip file can name."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        if not said.isdecimal():
            raise Refused(f"SOURCE_DATE_EPOCH='{said}' is no number of seconds")
        return int(said)
    done = subprocess.run(
        ["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True
    )
    return int(done.stdout) if done.returncode == 0 else 315532800


def _onednn(include):
    header = include / "oneapi" / "dnnl" / "dnnl_version.h"
    return "libdnnl.so." + re.search(r"DNNL_VERSION_MAJOR\s+(\d+)", header.read_text())[1]

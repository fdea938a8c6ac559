"""What goes into the container image: the command, the Python package, oneDNN and libcurl, and Debian's Python with
NumPy, so that a program is all that is left to add. No shell, no package manager, no documentation but licences."""

import os
import re
import shutil
from pathlib import Path

from packages import bundle, elf
from packages.refusal import Refused, run

_PYTHON_PACKAGES = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib"),
    "python3-numpy",
)
# By which remote files are reached (io/remote): the library, and whom it trusts.
_CURL = "libcurl.so.4"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_CERTIFICATES_LICENCE = Path("/usr/share/doc/ca-certificates/copyright")
# Of those packages: what only their own tests need, what makes programs rather than runs them, and modules
# for databases and directories that bring large libraries along.
_LEFT_OUT = re.compile(
    r"/(tests?|share|include|ensurepip|idlelib|lib2to3|distutils|f2py|pydoc_data|sqlite3)/"
    r"|/python3\.11/dist-packages/|/lib-dynload/(_dbm|_sqlite3|nis)\.|\.(pyi|a)$"
    r"|/core/_(simd|operand_flag_tests|rational_tests|struct_ufunc_tests|umath_tests)\."
)


def make(build, output, staging):
    """Writes the image of a build into `output`, as `docker save` would have; returns its path."""
    build.stage_together(staging / "usr")
    taken_in = {
        package: file.read_bytes() for package, file in bundle.licences_inside(staging).items()
    }
    shutil.rmtree(staging / "usr" / "share")
    system = [*map(_loaded_by_name, (build.onednn, _CURL)), *_python_files()]
    if not _CERTIFICATES.exists():
        raise Refused(f"{_CERTIFICATES} is not here; tools/setup dist brings it")
    for file in [*system, _CERTIFICATES]:
        _copy(file, staging)
    interpreter = staging / "usr" / "bin" / "python3.11"
    interpreter.rename(interpreter.with_name("python3"))
    _compile(build, staging)
    _add_licences(build, staging, system, taken_in)
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("millrace-*-image.tar.gz"):
        old.unlink()
    made = output / f"millrace-{build.version}-image.tar.gz"
    tag = f"millrace:{build.version}"
    run(
        [build.root / "tools" / "image", "--tag", tag, "--output", made, f"{staging}=/"],
        "pack the image",
    )
    shutil.rmtree(staging)
    return made


# What every program with `import millrace` has loaded.
_AT_WORK = """
import sys
import millrace
print(*{module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)}, sep="\\n")
"""


def _compile(build, staging):
    """Compiles NumPy, Millrace, and of Python's own modules those that their programs load; the others are
    compiled by whoever imports them, and would be a twentieth of the image."""
    loaded = run(
        [build.python, "-c", _AT_WORK],
        "ask which modules a program loads",
        env={**os.environ, "PYTHONPATH": str(build.folder / "python")},
    )
    own = [staging / path.lstrip("/") for path in loaded.splitlines() if path.endswith(".py")]
    packages = staging / "usr" / "lib" / "python3"
    # By content, since files in an image have no times. Nobody may write there when it runs.
    run(
        [build.python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        + ["-s", staging, packages, *sorted(path for path in own if path.is_file())],
        "compile the Python files of the image",
    )


def _loaded_by_name(soname):
    found = elf.loaded_by_name(soname)
    if found is None:
        raise Refused(f"{soname} is not here; tools/setup brings it")
    return found


def _python_files():
    """The files of Debian's Python and NumPy."""
    listed = run(
        ["dpkg-query", "-L", *_PYTHON_PACKAGES], "list the files of Debian's Python and NumPy"
    )
    paths = sorted({Path(line) for line in listed.splitlines() if line.startswith("/usr/")})
    return [path for path in paths if path.is_file() and not _LEFT_OUT.search(str(path))]


def _copy(file, staging):
    target = staging / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(file, target)


def _add_licences(build, staging, system, taken_in):
    libraries = set()
    for file in staging.rglob("*"):
        if file.is_file() and elf.is_elf(file):
            libraries.update(elf.libraries_of(file).values())
    ours = {path for path in libraries if staging in path.parents}
    found = bundle.licences([*system, *sorted(libraries - ours)])
    found["millrace"] = build.root / "LICENSE"
    found["ca-certificates"] = _CERTIFICATES_LICENCE
    for package, file in found.items():
        target = staging / "usr" / "share" / "doc" / package / "copyright"
        target.parent.mkdir(parents=True)
        shutil.copy(file, target)
        os.chmod(target, 0o644)
    for package, text in taken_in.items():
        target = staging / "usr" / "share" / "doc" / "millrace" / f"copyright.{package}"
        target.write_bytes(text)
        os.chmod(target, 0o644)

"""What goes into the wheels: the Python package with its module, the command, and all their libraries; and, in
a wheel of its own for its size, oneDNN, which they load by name on first use."""

import json
import os
import shutil

from packages import bundle, elf, wheel
from packages.build import PYTHON_DIR
from packages.refusal import run

LIBRARIES = "_libraries"
ONEDNN = "millrace_onednn"
_ONEDNN_PAGE = """\
oneDNN as `millrace` loads it for convolutions and large products, from where `millrace` looks for it: install
both, and these are fast. Nothing in here is meant to be imported.
"""


def make(build, output, staging):
    """Writes the two wheels of a build into `output`; returns their paths."""
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("millrace*.whl"):
        old.unlink()
    made = [_make_millrace(build, output, staging), _make_onednn(build, output, staging)]
    shutil.rmtree(staging)
    return made


def _make_millrace(build, output, staging):
    interpreter = _interpreter(build)
    build.stage_together(staging)
    package = staging / PYTHON_DIR / "millrace"
    command = staging / "bin" / "millrace"
    from_module = (LIBRARIES, f"../{ONEDNN}")
    programs = [bundle.Program(module, from_module) for module in sorted(package.glob("*.so"))]
    programs.append(bundle.Program(command, _from_command(interpreter["folder"])))
    sources = bundle.bundle(programs, [], package / LIBRARIES, beside=(f"../../{ONEDNN}",))
    others = [path for path in sources.values() if staging not in path.parents]
    metadata = wheel.Metadata(
        name="millrace",
        version=build.version,
        summary=build.summary,
        licence="Apache-2.0",
        python=f"=={interpreter['version']}.*",
        # The module speaks the C API of the NumPy that it was built beside, which later ones of
        # its major version know too.
        needs=("numpy<{1},>={0}".format(*numpy_range(interpreter["numpy"])),),
        extras={"onednn": f"millrace-onednn=={build.version}"},
        page=(build.root / "README.md").read_text(encoding="utf-8"),
    )
    packed = {f"millrace/{file.relative_to(package)}": file for file in _files_of(package)}
    packed[f"{wheel.programs_folder(metadata)}/millrace"] = command
    abi = "cp" + interpreter["version"].replace(".", "")
    inside = bundle.licences_inside(staging)
    return _write(build, output, metadata, packed, {**bundle.licences(others), **inside}, abi, abi)


def _make_onednn(build, output, staging):
    package = staging / ONEDNN
    sources = bundle.bundle([], [build.onednn], package)
    (package / "__init__.py").write_text(
        '"""Holds oneDNN for millrace, which loads it by itself."""\n'
    )
    metadata = wheel.Metadata(
        name=ONEDNN,
        version=build.version,
        summary="oneDNN for millrace",
        licence="Apache-2.0",
        python=">=3",
        page=_ONEDNN_PAGE,
    )
    packed = {f"{ONEDNN}/{file.name}": file for file in _files_of(package)}
    return _write(build, output, metadata, packed, bundle.licences(sources.values()), "py3", "none")


def _write(build, output, metadata, packed, others, python, abi):
    """`others`: {Debian package: its copyright file} of what is of others in it."""
    _, versions = bundle.demands([file for file in packed.values() if elf.is_elf(file)])
    glibc = elf.newest(versions, "GLIBC")
    tag = wheel.Tag(python, abi, wheel.manylinux(glibc, os.uname().machine))
    licences = {f"{name}/copyright": file for name, file in others.items()}
    licences["LICENSE"] = build.root / "LICENSE"
    made = output / wheel.file_name(metadata, tag)
    wheel.write(made, packed, metadata, tag, licences, build.epoch)
    return made


def _from_command(folder):
    """Where the libraries may be, seen from the command's folder; `folder` is "python3.11". The last is
    for `pip install --target`, the second for systems that keep machine code apart."""
    packages = (
        f"../lib/{folder}/site-packages",
        f"../lib64/{folder}/site-packages",
        f"../lib/{folder}/dist-packages",
        "..",
    )
    return tuple(
        f"{place}/{part}" for place in packages for part in (f"millrace/{LIBRARIES}", ONEDNN)
    )


def _interpreter(build):
    program = (
        "import json, sys, numpy; v = '%d.%d' % sys.version_info[:2];"
        "print(json.dumps({'version': v, 'folder': 'python' + v, 'numpy': numpy.__version__}))"
    )
    return json.loads(run([build.python, "-c", program], "ask the interpreter of the build"))


def numpy_range(version):
    """ "1.24.2" -> ("1.24", "2"): from the minor version that the module was built with, below the next
    major one."""
    major, minor = version.split(".")[:2]
    return f"{major}.{minor}", str(int(major) + 1)


def _files_of(folder):
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]

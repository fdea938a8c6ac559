"""tools/packages/wheel.py: what is in a wheel, and that pip takes it."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile

import pytest

from packages import wheel

PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
METADATA = wheel.Metadata(
    name="millrace",
    version="0.1.0",
    summary="One line",
    licence="Apache-2.0",
    python=">=3.9",
    page="# Page\n\nWith a second line: naïve.\n",
    needs=("numpy<2,>=1.24",),
    extras={"onednn": "millrace-onednn==0.1.0"},
)
TAG = wheel.Tag(PYTHON, PYTHON, wheel.manylinux((2, 17), os.uname().machine))
OWN = "millrace-0.1.0.dist-info"


@pytest.fixture
def tree(tmp_path):
    """A small package with a command: {place: file}."""
    files = {
        "millrace/__init__.py": ("__version__ = '0.1.0'\n", 0o644),
        "millrace/_libraries/libx-1a2b.so.1": ("\x7fELF of sorts", 0o600),
        f"{wheel.programs_folder(METADATA)}/millrace": ("#!/bin/sh\necho millrace 0.1.0\n", 0o755),
    }
    made = {}
    for place, (text, mode) in files.items():
        made[place] = tmp_path / "tree" / place
        made[place].parent.mkdir(parents=True, exist_ok=True)
        made[place].write_text(text)
        made[place].chmod(mode)
    return made


@pytest.fixture
def write(tree, tmp_path):
    def write(folder, metadata=METADATA, epoch=1_700_000_000):
        path = tmp_path / folder / wheel.file_name(metadata, TAG)
        path.parent.mkdir()
        licence = tmp_path / "LICENSE"
        licence.write_text("Apache\n")
        wheel.write(path, tree, metadata, TAG, {"LICENSE": licence}, epoch)
        return path

    return write


def test_the_record_lists_every_file_with_its_hash_and_size(write):
    with zipfile.ZipFile(write("a")) as archive:
        listed = {row[0]: row[1:] for row in csv.reader(io.StringIO(_text(archive, "RECORD")))}
        assert list(listed) == archive.namelist()
        assert listed.pop(f"{OWN}/RECORD") == ["", ""]
        for place, (said, size) in listed.items():
            content = archive.read(place)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            assert (said, int(size)) == ("sha256=" + digest.rstrip("="), len(content)), place


def test_what_may_be_executed_stays_so_and_all_else_is_readable_by_all(write):
    with zipfile.ZipFile(write("a")) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
    assert modes.pop("millrace-0.1.0.data/scripts/millrace") == 0o755
    assert set(modes.values()) == {0o644}


def test_metadata_say_what_it_needs_and_for_which_systems_it_is(write):
    path = write("a")
    assert path.name == f"millrace-0.1.0-{PYTHON}-{PYTHON}-manylinux_2_17_{os.uname().machine}.whl"
    with zipfile.ZipFile(path) as archive:
        said, page = _text(archive, "METADATA").split("\n\n", 1)
        described = _text(archive, "WHEEL").splitlines()
    assert page == METADATA.page
    lines = said.splitlines()
    assert {"Name: millrace", "Version: 0.1.0", "Requires-Python: >=3.9"} <= set(lines)
    assert "Requires-Dist: numpy<2,>=1.24" in lines
    assert "Provides-Extra: onednn" in lines
    assert 'Requires-Dist: millrace-onednn==0.1.0; extra == "onednn"' in lines
    assert "Root-Is-Purelib: false" in described and f"Tag: {TAG}" in described


def test_the_same_files_make_the_same_bytes_whenever_they_were_written(write, tree):
    first = write("a").read_bytes()
    for file in tree.values():
        os.utime(file, (1, 1))
    assert write("b").read_bytes() == first
    assert write("c", epoch=1_600_000_000).read_bytes() != first


def test_a_time_before_zip_files_knew_time_is_their_first_day(write):
    with zipfile.ZipFile(write("a", epoch=0)) as archive:
        assert {info.date_time[:3] for info in archive.infolist()} == {(1980, 1, 1)}


def test_pip_installs_it_with_the_command_beside_the_interpreter(write, tmp_path):
    alone = wheel.Metadata("millrace", "0.1.0", "One line", "Apache-2.0", ">=3.9", "# Page\n")
    environment = tmp_path / "environment"
    _run(sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    _run(python, "-m", "pip", "install", "-q", "--no-index", write("a", alone))
    assert _run(environment / "bin" / "millrace") == "millrace 0.1.0\n"
    assert _run(python, "-c", "import millrace; print(millrace.__version__)") == "0.1.0\n"
    _run(python, "-m", "pip", "uninstall", "-q", "-y", "millrace")
    left = [path for path in environment.rglob("*millrace*") if "__pycache__" not in str(path)]
    assert left == []


def _text(archive, name):
    return archive.read(f"{OWN}/{name}").decode()


def _run(*command):
    clean = {"PATH": "/usr/bin:/bin", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=clean, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

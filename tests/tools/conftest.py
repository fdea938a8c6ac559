"""What the tests of tools/floors share: a small tree, and the command run on it."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

from guards.checks import faults_of  # noqa: E402
from guards.tree import Tree  # noqa: E402


@pytest.fixture
def floors():
    """Runs tools/floors on a tree: those checks, or all."""

    def run(root, *checks):
        return subprocess.run(
            [sys.executable, REPOSITORY / "tools" / "floors", *checks, "--root", root],
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture
def house(tmp_path):
    """Writes files of a tree; every room that gets one also gets its README."""
    (tmp_path / "millrace").mkdir()

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            readme = path.parent / "README.md"
            if name.startswith("millrace/") and not readme.exists():
                readme.write_text("# A room\n\nIts purpose.\n")
        return tmp_path

    return write


@pytest.fixture
def faults(house):
    """Writes a tree and makes one check of it: the lines of the faults."""

    def check(check, files):
        found, _ = faults_of(Tree(house(files)), [check])
        return [str(fault) for fault in found]

    return check

"""Real clusters of real processes, for tests.

`launch` runs a job with the `millrace run` command; `cluster` starts single tasks by hand, in the order
that the test wants, and kills what is left at the end.
"""

import dataclasses
import pathlib
import re
import subprocess
import sys
import time

import pytest

from bounds import DEADLINE, ROOT
from started_tasks import Cluster, millrace_command


@dataclasses.dataclass
class Texts:
    """Text files, the list that names them, and how many words they have in all."""

    list_file: pathlib.Path
    files: list
    words: int


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    files, words = [], 0
    for i in range(22):
        count = 26 + (i * 37) % 68
        path = folder / f"text_{i}.txt"
        path.write_text(
            " ".join(f"word{i}_{k}" + ("\n" if k % 9 == 8 else "") for k in range(count))
        )
        files.append(path)
        words += len(path.read_text().split())
    list_file = tmp_path / "filenames.txt"
    list_file.write_text("".join(f"{path}\n" for path in files))
    return Texts(list_file, files, words)


@dataclasses.dataclass
class Finished:
    code: int
    output: str
    seconds: float

    def total(self):
        """The number of the last line `total: N words`."""
        found = re.findall(r"total: (\d+) words", self.output)
        assert found, f"no total in the output:\n{self.output}"
        return int(found[-1])


@pytest.fixture
def launch():
    """launch(["--job", "map=2", ...], ["python3", "x.py"], during=...) -> Finished."""

    def run(options, command, during=None):
        start = time.monotonic()
        process = subprocess.Popen(
            [millrace_command(), "run", *options, "--", *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        try:
            if during:
                during(process)
            output, _ = process.communicate(timeout=DEADLINE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return Finished(process.returncode, output, time.monotonic() - start)

    return run


@pytest.fixture
def cluster(tmp_path):
    """cluster(files=1, map=2) -> Cluster."""
    made = []

    def make(**jobs):
        made.append(Cluster(tmp_path, jobs))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def python():
    return sys.executable

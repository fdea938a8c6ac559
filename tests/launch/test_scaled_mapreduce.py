"""A MapReduce whose mappers and reducers become more, and fewer, while it runs: every word is counted once."""

import collections
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "python": [sys.executable, ROOT / "tests" / "cluster" / "counting_job.py"],
    "cpp": [ROOT / "build" / "test-bin" / "counting_job"],
}


def counted(folder):
    lines = [line for part in folder.glob("part-*") for line in part.read_text().splitlines()]
    found = {word: int(count) for word, count in (line.split("\t") for line in lines)}
    assert len(found) == len(lines), "a word is there twice"
    return found


@pytest.mark.parametrize("language", PROGRAMS)
def test_mappers_and_reducers_come_and_go_while_the_job_runs(here, language):
    program = PROGRAMS[language]
    if not program[-1].exists():
        pytest.skip(f"{program[-1]} is missing: build the tests (make build)")
    texts, marks, output = (here.folder / name for name in ("texts", "marks", "counts"))
    texts.mkdir()
    marks.mkdir()
    lines = [f"{i} to be or not to be {i % 7}\n" for i in range(200)]
    (texts / "a.txt").write_text("".join(lines))
    job = here.folder / "words.yaml"
    command = [str(word) for word in (*program, texts / "*.txt", output, marks, "changes")]
    job.write_text(
        f"name: words\ncommand: {json.dumps(command)}\nuntil: files\ngrace: 1s\n"
        "roles: {files: 1, map: {count: 1, max: 2}, reduce: {count: 1, max: 2}}\n"
    )
    here.millrace("submit", str(job))
    for kind in ("map", "reduce"):
        # One task is there and waits; the second takes work and is gone with it.
        here.wait_until((marks / f"{kind}-waits").exists, f"{kind}:0 is at work")
        grown = (0, f"{kind}: 1 -> 2 tasks\n")
        assert here.millrace("scale", "words", f"{kind}=2") == grown
        here.wait_until((marks / f"{kind}-came").exists, f"{kind}:1 is at work")
        shrunk = (0, f"{kind}: 2 -> 1 task\n")
        assert here.millrace("scale", "words", f"{kind}=1") == shrunk
    code, output_of_wait = here.millrace("wait", "words")
    assert code == 0, output_of_wait
    assert len(re.findall(r"(map|reduce):1 +scaled down", output_of_wait)) == 2, output_of_wait
    assert counted(output) == collections.Counter("".join(lines).split())
    counters = json.loads((output / "_counters.json").read_text())
    assert counters["lines seen"] == 200 and counters["records read"] == 200

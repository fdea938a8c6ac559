"""The plainest program, with more map tasks than there is work: those that find none end, and nobody
waits for them."""

import re

from bounds import ROOT

PROGRAM = ROOT / "examples" / "seed_word_count.py"


def test_tasks_that_found_no_work_are_gone_and_not_waited_for(launch, texts, python, tmp_path):
    files = texts.files[:3]
    (tmp_path / "filenames.txt").write_text("".join(f"{path}\n" for path in files))
    jobs = ["--job", "files=1", "--job", "reduce=1", "--job", "map=8", "--until", "map"]
    done = launch([*jobs, "--cwd", tmp_path], [python, PROGRAM])
    assert done.code == 0, done.output
    counted = re.findall(r"words in (\S+)", done.output)
    assert sorted(counted) == sorted(map(str, files)), done.output
    assert len(re.findall(r"^map:\d +completed", done.output, re.MULTILINE)) == 8, done.output

"""The plainest program counts every file once, with no line of it changed, while its mappers die and stop.

once_chaos.py by itself does so for as long as one likes; MILLRACE_ONCE_STRIKES says how often here.
"""

import os
import random
import re

from bounds import ROOT
from once_chaos import Chaos

PROGRAM = ROOT / "examples" / "seed_word_count.py"
HURRIED = ROOT / "tests" / "cluster" / "hurried"


def test_killed_and_stopped_mappers_neither_lose_nor_double_a_file(tmp_path):
    # Printed, and told by a failure: the same seed strikes the same mappers.
    seed = random.SystemRandom().randrange(1 << 30)
    strikes = int(os.environ.get("MILLRACE_ONCE_STRIKES", "5"))
    chaos = Chaos(tmp_path, seed, strikes, files=10 + 6 * strikes)
    assert chaos.run() == chaos.words
    assert chaos.kills + chaos.stops > 0


def test_the_flag_and_restarts_are_all_it_takes(launch, texts, python, tmp_path):
    """A mapper that dies with the first name it gets loses nothing."""
    files = texts.files[:3]
    (tmp_path / "filenames.txt").write_text("".join(f"{path}\n" for path in files))
    path = os.pathsep.join([str(HURRIED), os.environ.get("PYTHONPATH", "")])
    flags = ["--job", "files=1", "--job", "reduce=1", "--job", "map=1", "--until", "map", "--once"]
    flags += ["--restart", "map=100", "--env", f"PYTHONPATH={path}", "--cwd", tmp_path]
    flags += ["--env", f"HURRIED_MARK={tmp_path / 'mark'}", "--env", "HURRIED_DEATH=1"]
    done = launch(flags, [python, PROGRAM])
    assert done.code == 0, done.output
    assert "SIGKILL (signal 9)" in done.output and "with 1 restart" in done.output, done.output
    counted = re.findall(r"words in (\S+)", done.output)
    assert sorted(counted) == sorted(map(str, files)), done.output

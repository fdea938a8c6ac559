"""bench/run: one command from start to end, whatever one benchmark does."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(tmp_path):
    """Runs benchmarks that are Python texts, by name, and returns what became of it."""

    def run(options=(), **programs):
        (tmp_path / "bin").mkdir()
        for name, text in programs.items():
            program = tmp_path / "bin" / f"bench_made_up_{name}"
            program.write_text(text if text.startswith("#!") else f"#!{sys.executable}\n{text}")
            program.chmod(0o755)
        command = [ROOT / "bench" / "run", "--build", tmp_path, *options, "made_up"]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    return run


def figure(name, **others):
    line = {"name": name, "unit": "us", "median": 2.0, "min": 1.0, "max": 3.0, **others}
    return f"print({json.dumps(json.dumps(line))}, flush=True)\n"


MET = dict(goal=5, goal_is_ratio=False, better="less", met=True)
MISSED = dict(goal=1, goal_is_ratio=False, better="less", met=False)


def test_all_goals_met(bench):
    got = bench(a=figure("one", **MET), b=figure("two"))
    assert got.returncode == 0, got.stderr
    assert "| one" in got.stdout and "<= 5 us: met" in got.stdout and "| two" in got.stdout


def test_a_missed_goal_is_in_the_exit_code(bench):
    assert bench(a=figure("one", **MISSED)).returncode == 1


def test_a_benchmark_that_hangs_is_ended_and_the_rest_go_on(bench):
    hangs = figure("before") + "import signal\nsignal.pause()\n"
    got = bench(["--patience", "10"], a=hangs, b=figure("after", **MISSED))
    assert got.returncode == 2
    assert "| before" in got.stdout and "| after" in got.stdout
    assert "bench_made_up_a ended: no figure for 10 s after 'before'" in got.stderr


def test_one_that_talks_without_a_figure_is_ended_too(bench):
    talks = "import time\nwhile True:\n    print('still here', flush=True)\n    time.sleep(0.1)\n"
    got = bench(["--patience", "10"], a=talks, b=figure("after"))
    assert got.returncode == 2 and "| after" in got.stdout
    assert "bench_made_up_a ended: no figure for 10 s after it started" in got.stderr


def test_what_an_ended_benchmark_started_ends_too(bench, tmp_path):
    starts = "import subprocess, sys\n"
    starts += "child = subprocess.Popen(['sleep', '1000'])\n"
    starts += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    got = bench(["--patience", "10"], a=starts + "child.wait()\n")
    assert got.returncode == 2
    stat = pathlib.Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_one_that_fails_says_why_and_the_rest_go_on(bench):
    got = bench(a="import sys\nsys.exit('no such socket')\n", b=figure("after"))
    assert got.returncode == 2
    assert "| after" in got.stdout
    assert "bench_made_up_a failed (1):\nno such socket" in got.stderr


def test_one_that_can_not_be_started_says_why_and_the_rest_go_on(bench):
    got = bench(a="#!/no/such/interpreter\n", b=figure("after"))
    assert got.returncode == 2
    assert "| after" in got.stdout
    assert "bench_made_up_a can't be started: " in got.stderr


def test_benchmarks_are_told_how_long_a_figure_may_take(bench):
    says = "import os\nseconds = os.environ['MILLRACE_BENCH_SECONDS']\n"
    says += "assert float(seconds) == 0.25, seconds\n"
    got = bench(["--seconds", "0.25"], a=says + figure("one"))
    assert got.returncode == 0, got.stderr


def test_progress_says_what_is_left(bench):
    got = bench(a=figure("one"), b=figure("two"))
    assert "[2/2] bench_made_up_b (" in got.stderr and " s to go)" in got.stderr


def test_none_of_that_name(bench):
    got = bench()
    assert got.returncode == 2 and "no benchmark found" in got.stderr

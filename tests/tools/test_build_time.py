"""tools/build_time on the logs of small builds: what it adds up, and when it must not judge."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "build_time"
MINUTE = 60_000


def unit(name):
    return f"millrace/base/CMakeFiles/millrace_base.dir/{name}.cc.o"


@pytest.fixture
def build(tmp_path):
    """A build of these units with this log of (output, start, end); runs the tool on it."""

    def run(units, log, launcher=""):
        edges = [
            f"build {unit(name)}: CXX_COMPILER__base_Release ../{name}.cc || order"
            for name in units
        ]
        edges.append("build libbase.a: CXX_STATIC_LIBRARY_LINKER__base | clock.cc.o")
        edges.append("build ops.h ops.cc | ${cmake_ninja_workdir}ops.h: CUSTOM_COMMAND generate")
        (tmp_path / "build.ninja").write_text("\n".join(edges) + "\n")
        (tmp_path / "CMakeFiles").mkdir(exist_ok=True)
        (tmp_path / "CMakeFiles" / "rules.ninja").write_text(
            f"rule CXX_COMPILER__base_Release\n  command = {launcher}/usr/bin/c++ -c $in\n"
        )
        lines = [f"{start}\t{end}\t0\t{output}\t1" for output, start, end in log]
        (tmp_path / ".ninja_log").write_text("\n".join(["# ninja log v5", *lines]) + "\n")
        return subprocess.run([sys.executable, TOOL, tmp_path], capture_output=True, text=True)

    return run


def test_the_worst_units_come_first_and_all_commands_count(build):
    result = build(
        ["quick", "slow"],
        [(unit("quick"), 0, 3_000), (unit("slow"), 0, 90_000), ("libbase.a", 90_000, 117_000)],
    )
    assert result.returncode == 0, result.stdout
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["90.0", "millrace/base/slow.cc"]
    assert lines[2].split() == ["3.0", "millrace/base/quick.cc"]
    assert "compiling 1.6 min, all commands 2.0 min" in result.stdout
    assert "1.0 min on 2 cores: within the limit of 15 min" in result.stdout


def test_only_the_ten_worst_are_told(build):
    names = [f"unit_{number}" for number in range(12)]
    result = build(names, [(unit(name), 0, 1_000 + i) for i, name in enumerate(names)])
    assert "The 10 worst of 12" in result.stdout
    assert result.stdout.count("millrace/base/unit_") == 10
    assert "unit_1.cc" not in result.stdout and "unit_11.cc" in result.stdout


@pytest.mark.parametrize(("minutes", "code"), [(30, 0), (31, 1)])
def test_more_than_fifteen_minutes_on_two_cores_fail(build, minutes, code):
    result = build(["clock"], [(unit("clock"), 0, minutes * MINUTE)])
    assert result.returncode == code
    assert ("ABOVE the limit" in result.stdout) == (code == 1)


def test_a_unit_that_was_built_again_counts_once_as_it_was_last(build):
    log = [(unit("clock"), 0, 40 * MINUTE), (unit("clock"), 10, MINUTE)]
    result = build(["clock"], log)
    assert result.returncode == 0
    assert "all commands 1.0 min" in result.stdout


def test_a_command_with_several_outputs_counts_once(build):
    log = [(unit("clock"), 0, MINUTE), ("ops.h", 0, 4 * MINUTE), ("ops.cc", 0, 4 * MINUTE)]
    assert "all commands 5.0 min" in build(["clock"], log).stdout


def test_what_is_no_longer_built_does_not_count(build):
    log = [(unit("clock"), 0, MINUTE), (unit("renamed"), 0, 60 * MINUTE)]
    result = build(["clock"], log)
    assert result.returncode == 0
    assert "all commands 1.0 min" in result.stdout


def test_the_log_of_a_part_is_not_judged(build):
    result = build(["clock", "hash"], [(unit("clock"), 0, 40 * MINUTE)])
    assert result.returncode == 3
    assert (
        "NOT JUDGED: 1 of 2 translation units are not in the log, millrace/base/hash.cc"
        in result.stdout
    )


@pytest.mark.parametrize("launcher", ["/usr/bin/ccache ", "/usr/bin/cmake -E env A=b ccache "])
def test_a_compiler_cache_is_told_and_not_judged(build, launcher):
    result = build(["clock"], [(unit("clock"), 0, 90)], launcher)
    assert result.returncode == 3
    assert "NOT JUDGED: ccache stood before the compiler" in result.stdout
    assert "--fresh" in result.stdout


def test_what_is_too_much_in_spite_of_a_cache_fails(build):
    result = build(["clock"], [(unit("clock"), 0, 31 * MINUTE)], launcher="/usr/bin/ccache ")
    assert result.returncode == 1


def test_a_folder_without_a_build_is_refused(tmp_path):
    result = subprocess.run([sys.executable, TOOL, tmp_path], capture_output=True, text=True)
    assert result.returncode == 2
    assert "has no build.ninja" in result.stderr

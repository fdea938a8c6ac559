"""What tasks tell about themselves (docs/task_record.md) reaches whoever started them."""

import json
import os
import subprocess
import sys

import pytest

from processes import PATIENCE

CLOSED = (
    "millrace.errors.OutOfRangeError(None, None, 'queue q is closed and has insufficient elements')"
)


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def program(tmp_path):
    """program(text): its records and its exit code, run as a task alone that reports into a file."""

    def run(text):
        file = tmp_path / "report"
        done = subprocess.run(
            [sys.executable, "-c", text],
            env=dict(os.environ, MILLRACE_REPORT_FILE=str(file)),
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )
        return records_of(file), done

    return run


@pytest.mark.parametrize(
    "end, told",
    [
        ("", {"end": "completed"}),
        (
            "raise ValueError('bad\\nrecord')",
            {"end": "failed", "consequence": False, "error": "ValueError: bad record"},
        ),
        (
            "import millrace.errors; raise " + CLOSED,
            {
                "end": "input exhausted",
                "code": "OUT_OF_RANGE",
                "error": "millrace.errors.OutOfRangeError: queue q is closed and has insufficient elements",
            },
        ),
        (
            "tf.Session().run(tf.gather([1], 5))",
            {"end": "failed", "code": "INVALID_ARGUMENT", "consequence": False},
        ),
    ],
)
def test_a_python_program_tells_how_it_ends(program, end, told):
    records, done = program(f"import millrace as tf\n{end}\n")
    assert [record["event"] for record in records] == ["started", "ended"]
    assert told.items() <= records[-1].items()
    assert ("Traceback" in done.stderr) == ("raise" in end or "run" in end)


def test_a_task_tells_that_it_serves_and_programs_that_it_starts_tell_nothing(program):
    records, _ = program(
        """
import subprocess, sys
import millrace as tf
tf.train.Server({"map": {3: "localhost:0"}})
subprocess.run([sys.executable, "-c", "import millrace"], check=True)
"""
    )
    assert [record["event"] for record in records] == ["started", "serving", "ended"]
    assert records[1]["task"] == "map:3"
    assert records[1]["address"].startswith("localhost:")


def test_a_report_that_can_not_be_written_is_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import millrace; print('went on')"],
        env=dict(os.environ, MILLRACE_REPORT_FD="77"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0 and done.stdout == "went on\n"
    assert "MILLRACE_REPORT_FD=77" in done.stderr


def test_serve_tells_how_it_ends(millrace, tmp_path):
    file = tmp_path / "report"
    server = subprocess.Popen(
        [millrace, "serve", "--ps_hosts=localhost:0"],
        env=dict(os.environ, MILLRACE_REPORT_FILE=str(file)),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout.readline().startswith("serving ps:0")
    server.terminate()
    server.communicate(timeout=PATIENCE)
    assert [r["event"] for r in records_of(file)] == ["started", "serving", "ended"]
    assert records_of(file)[-1]["end"] == "completed"


def test_the_report_of_a_killed_task_quotes_no_information(run):
    program = """
import os, signal
import millrace as tf
tf.train.Server(tf.contrib.learn.RunConfig().cluster_spec)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run("--job", "worker=1", py=program)
    assert done.returncode == 1
    assert "I worker:0: listens on" in done.stderr
    assert "killed by SIGKILL (signal 9)" in done.stdout
    assert "last error" not in done.stdout


def test_the_report_of_a_task_quotes_what_it_told_not_what_it_wrote(run):
    program = """
import sys
import millrace
hook = sys.excepthook
def quiet(*error):
    hook(*error)
    print("FATAL ERROR: nothing at all", file=sys.stderr)
sys.excepthook = quiet
raise KeyError("the truth")
"""
    done = run("--job", "worker=1", py=program)
    assert "last error: KeyError: 'the truth'\n" in done.stdout
    assert "nothing at all" not in done.stdout


def test_a_task_of_millrace_that_waits_in_vain_is_known_without_its_log(run):
    program = """
import json, os, sys
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    os._exit(0)
import millrace as tf
server = tf.train.Server(tf.contrib.learn.RunConfig().cluster_spec)
tf.Session(server.target).run(tf.constant(1))
"""
    done = run("--job", "worker=2", "--env", "MILLRACE_LOG=error", py=program)
    assert done.returncode == 1
    assert "worker:0 waits for worker:1, which has ended (completed): " in done.stderr

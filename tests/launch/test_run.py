"""`millrace run`: how jobs succeed, how they fail, and what people are told."""

import json
import os
import re
import signal
import subprocess

import pytest

from processes import PATIENCE, default_signals

IS = 'case "$TF_CONFIG" in *\'"type":"%s","index":%d\'*) %s;; esac; '
FOREVER = "exec sleep 1000"


def only(job, index, script):
    """sh that only one task runs."""
    return IS % (job, index, script)


def reasons(output):
    """{task: exit reason} of the table that a run ends with."""
    lines = output.splitlines()
    title = max(i for i, line in enumerate(lines) if line.startswith("task "))
    column = lines[title].index("exit reason")
    end = lines[title].index("time", column)
    rows = [line for line in lines[title + 1 : -1] if not line.startswith(" ")]
    return {row.split()[0]: row[column:end].strip() for row in rows}


WORD_COUNT = ("--job", "files=1", "--job", "reduce=1", "--job", "map=2", "--until", "map")


def test_the_job_succeeds_when_the_tasks_that_decide_have(run):
    done = run(*WORD_COUNT, sh=only("map", 0, "echo zero; exit") + only("map", 1, "exit") + FOREVER)
    assert done.returncode == 0, done.stderr
    assert "map:0    | zero\n" in done.stdout
    assert reasons(done.stdout) == {
        "files:0": "stopped: job finished",
        "reduce:0": "stopped: job finished",
        "map:0": "completed",
        "map:1": "completed",
    }
    assert done.stdout.splitlines()[-1].startswith("job succeeded in ")


def test_every_task_gets_its_identity_and_a_port_of_its_own(run):
    done = run("--job", "a=1", "--job", "b=2", "--env", "X=y z", sh='echo "$TF_CONFIG"; echo "$X"')
    told = {}
    for line in done.stdout.splitlines():
        if " | {" in line:
            config = json.loads(line.split(" | ")[1])
            told[line.split()[0]] = (config["task"]["type"], config["task"]["index"])
            cluster = config["cluster"]
    assert told == {"a:0": ("a", 0), "b:0": ("b", 0), "b:1": ("b", 1)}
    assert len({*cluster["a"], *cluster["b"]}) == 3
    assert done.stdout.count("| y z\n") == 3


@pytest.mark.parametrize(
    "script, reason, line",
    [
        ("echo ValueError: bad >&2; exit 3", "exit code 3", "last error: ValueError: bad"),
        ("kill -9 $$", "killed by SIGKILL (signal 9)", None),
        ("kill -11 $$", "killed by SIGSEGV (signal 11)", None),
        ("echo MemoryError >&2; exit 1", "out of memory (exit code 1)", "last error: MemoryError"),
    ],
)
def test_a_task_that_fails_ends_the_job_and_is_told_with_its_cause(run, script, reason, line):
    done = run(*WORD_COUNT, sh=only("reduce", 0, script) + FOREVER)
    assert done.returncode == 1
    assert f"reduce:0 failed: {reason}" in done.stderr
    ends = reasons(done.stdout)
    assert ends.pop("reduce:0") == reason
    assert set(ends.values()) == {"stopped: reduce:0 failed"}
    assert line is None or line in done.stdout
    assert done.stdout.splitlines()[-1].endswith(f"reduce:0: {reason}")


def test_a_task_that_ran_out_of_input_lets_the_others_finish(run):
    closed = "OutOfRangeError: FIFOQueue 'q' is closed and has insufficient elements"
    script = only("map", 0, f'echo "{closed}" >&2; exit 1') + only("map", 1, "sleep 0.2; exit 0")
    done = run(*WORD_COUNT, sh=script + FOREVER)
    assert done.returncode == 0
    assert reasons(done.stdout)["map:0"] == "input exhausted"
    assert reasons(done.stdout)["map:1"] == "completed"


def test_a_program_that_is_missing_is_named(run):
    done = run("--job", "worker=2", argv=["no-such-program"])
    assert done.returncode == 1
    assert "could not start: no program 'no-such-program' on the PATH" in done.stdout


def test_a_job_that_takes_too_long_fails(run):
    done = run("--job", "worker=1", "--timeout", "200ms", sh=FOREVER)
    assert done.returncode == 1
    assert reasons(done.stdout) == {"worker:0": "stopped: time limit of 0.2 s"}


def test_a_task_that_ignores_sigterm_is_killed_after_the_grace_time(run):
    script = only("ps", 0, "trap '' TERM; echo up; while :; do sleep 1; done")
    done = run("--job", "ps=1", "--job", "worker=1", "--grace", "200ms", sh=script + "sleep 0.2")
    assert done.returncode == 0
    assert reasons(done.stdout)["ps:0"] == "stopped: job finished (SIGKILL was needed)"


def test_output_of_any_size_and_content_arrives_whole(run, tmp_path):
    program = """
import json, os, sys
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
sys.stdout.buffer.write(b"%d %s\\n" % (index, b"x" * 90) * 50_000)
sys.stdout.buffer.write(b"y" * 1_000_000)
sys.stderr.buffer.write(bytes(range(256)) + b"end")
"""
    done = run("--job", "worker=2", "--log-dir", str(tmp_path / "logs"), py=program)
    assert done.returncode == 0
    for index in range(2):
        assert done.stdout.count(f"worker:{index} | {index} {'x' * 90}\n") == 50_000
        log = (tmp_path / "logs" / f"worker_{index}.log").read_bytes()
        assert log.count(b"%d %s\n" % (index, b"x" * 90)) == 50_000
        assert log.count(b"y") >= 1_000_000
        for line in (bytes(range(256)) + b"end").split(b"\n"):
            assert line in log
    assert done.stdout.count("y") >= 2_000_000
    assert max(map(len, done.stdout.splitlines())) < 20_000
    assert "\x00\x01" in done.stderr


def test_a_log_keeps_the_lines_of_both_streams_apart(run, tmp_path):
    script = "printf out; echo error >&2; echo put; printf tail; printf 'the end' >&2"
    assert run("--job", "worker=1", "--log-dir", str(tmp_path / "logs"), sh=script).returncode == 0
    lines = (tmp_path / "logs" / "worker_0.log").read_text().splitlines()
    assert sorted(lines) == ["error", "output", "tail", "the end"]


def test_a_task_that_waits_for_one_that_has_ended_fails_the_job(run):
    line = "CreateSession still waiting for response from worker: /job:worker/replica:0/task:1"
    waiting = only("worker", 0, f"while :; do echo '{line} at' >&2; sleep 0.3; done")
    done = run("--job", "worker=2", sh=waiting)
    assert done.returncode == 1
    assert "worker:0 waits for worker:1, which has ended (completed): " in done.stderr
    assert reasons(done.stdout) == {
        "worker:0": "stopped: waiting was in vain",
        "worker:1": "completed",
    }


def test_the_port_is_held_for_the_task(run):
    program = """
import os, socket
listener = socket.socket(fileno=int(os.environ["MILLRACE_LISTEN_FD"]))
host, port = os.environ["MILLRACE_LISTEN_ADDRESS"].rsplit(":", 1)
assert listener.getsockname() == (host, int(port))
try:
    socket.socket().bind((host, int(port)))
except OSError:
    print("taken")
listener.listen()
socket.create_connection((host, int(port)))
print("served")
"""
    done = run("--job", "worker=1", py=program)
    assert done.returncode == 0, done.stdout
    assert "| taken\n" in done.stdout and "| served\n" in done.stdout


def test_a_released_port_can_be_bound_by_the_task(run):
    program = """
import os, socket
assert "MILLRACE_LISTEN_FD" not in os.environ
host, port = os.environ["MILLRACE_LISTEN_ADDRESS"].rsplit(":", 1)
socket.socket().bind((host, int(port)))
"""
    done = run("--job", "worker=1", "--release-ports", py=program)
    assert done.returncode == 0, done.stdout


def test_tasks_run_in_the_directory_that_is_asked_for(run, tmp_path):
    done = run("--job", "worker=1", "--cwd", str(tmp_path), sh="pwd")
    assert f"worker:0 | {tmp_path}\n" in done.stdout


def test_a_dry_run_starts_nothing(run, tmp_path):
    done = run(*WORD_COUNT, "--dry-run", sh=f"touch {tmp_path}/started")
    assert done.returncode == 0
    assert done.stdout.count("TF_CONFIG='{") == 4
    assert f"sh -c 'touch {tmp_path}/started'\n" in done.stdout
    assert not (tmp_path / "started").exists()


def test_what_a_dry_run_prints_can_be_run_by_a_shell(run):
    plan = run("--job", "worker=1", "--dry-run", sh='echo "$TF_CONFIG"').stdout
    told = subprocess.run(["sh", "-c", plan], capture_output=True, text=True).stdout
    assert json.loads(told)["task"] == {"type": "worker", "index": 0}


@pytest.mark.parametrize(
    "flags, told",
    [
        (["--job", "1st=1"], "letter, then letters"),
        (["--job", "worker=0"], "NAME=COUNT"),
        (["--job", "worker", "--job", "worker=2"], "given twice"),
        (["--job", "worker", "--until", "wroker"], "there are: worker"),
        (["--job", "worker", "--env", "TF_CONFIG={}"], "set for each task"),
        (["--job", "worker", "--cwd", "/no/such"], "no such directory"),
        (["--job", "worker", "--timeout", "soon"], "is no duration"),
        (["--job", "worker", "--host", "192.0.2.1"], "not an address of this machine"),
        (["--job", "worker", "--ports", "70000"], "'70000' is not allowed; write a whole number"),
        (["--job", "worker", "sh", "-c", "a b"], "write the command after '--': -- sh -c 'a b'"),
        (["--job", "worker", "serve"], "after '--': -- serve"),
        ([], "say for example --job worker=2"),
        (["--job", "worker", "--frobnicate"], "--frobnicate"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_exit_code_2(run, flags, told):
    done = run(*flags, sh="true")
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_the_help_shows_where_the_command_goes(millrace):
    done = subprocess.run([millrace, "run", "--help"], capture_output=True, text=True)
    assert "run [OPTIONS] [FILE] -- COMMAND [ARGUMENT...]\n" in done.stdout


@pytest.mark.parametrize("command", ["version", "--version"])
def test_it_tells_its_version(millrace, command):
    done = subprocess.run([millrace, command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"millrace \d+\.\d+\.\d+\n", done.stdout)


def test_a_port_in_use_is_told_before_anything_starts(run):
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = run("--job", "worker=1", "--ports", str(port), sh="echo started")
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use by process {os.getpid()} (" in done.stderr
    assert "started" not in done.stdout


def test_a_terminal_shows_progress_and_colours(millrace):
    reader, terminal = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    launcher = subprocess.Popen(
        [millrace, "run", "--job", "worker=1", "--", "sh", "-c", "sleep 1.2; echo done"],
        stdout=terminal,
        stderr=terminal,
        env=environment,
        preexec_fn=default_signals,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(reader, 4096)
        except OSError:  # how Linux says that nobody holds the terminal any more
            break
    os.close(reader)
    assert launcher.wait(PATIENCE) == 0
    assert b"millrace: 1 running, 0 ended, " in shown
    assert b"\x1b[36mworker:0 |\x1b[0m done" in shown
    assert shown.split(b"\r\x1b[K")[-1].startswith(b"task ")


def test_a_launcher_whose_output_nobody_reads_ends(start):
    launcher = start("--job", "worker=1", sh="while echo x; do sleep 0.01; done")
    launcher.stdout.readline()
    launcher.stdout.close()
    assert launcher.wait(PATIENCE) == 130


def test_a_launcher_under_nohup_survives_the_terminal(start):
    def ignore_hangup():
        default_signals()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    launcher = start("--job", "worker=1", setup=ignore_hangup, sh="echo up; sleep 0.3; echo done")
    assert launcher.stdout.readline() == "worker:0 | up\n"
    launcher.send_signal(signal.SIGHUP)
    assert "worker:0 | done\n" in launcher.communicate(timeout=PATIENCE)[0]
    assert launcher.returncode == 0

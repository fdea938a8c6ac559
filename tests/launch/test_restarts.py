"""`millrace run --restart`: tasks that end too early come back as who they were, or the job says why not."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest

from processes import PATIENCE, default_signals, read_until, task_and_keeper

QUICK = "pause: 10ms, longest_pause: 20ms"
FOREVER = "exec sleep 1000"
FIRST = '[ "$MILLRACE_ATTEMPT" = 1 ]'


@pytest.fixture
def job(tmp_path):
    """job(roles, sh, until): a job file whose tasks run that script."""

    def job(roles, sh, **keys):
        path = tmp_path / "job.yaml"
        lines = [f"  {name}: {keys_of}" for name, keys_of in roles.items()]
        more = [f"{key}: {value}" for key, value in keys.items()]
        command = json.dumps(["sh", "-c", sh])
        path.write_text("\n".join([f"command: {command}", "roles:", *lines, *more, ""]))
        return str(path)

    return job


def restart(**keys):
    """A role's keys: one task that is restarted soon."""
    keys = {"budget": "10 in 5m", **keys}
    return "{restart: {%s, %s}}" % (QUICK, ", ".join(f"{k}: {v}" for k, v in keys.items()))


def run_file(millrace, path, *flags):
    return subprocess.run(
        [millrace, "run", path, *flags],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=default_signals,
    )


@pytest.fixture
def run_job(millrace, job):
    return lambda roles, sh, *flags, **keys: run_file(millrace, job(roles, sh, **keys), *flags)


def last_line(done):
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "end, cause",
    [
        ("kill -9 $$", r"killed by SIGKILL \(signal 9\)"),
        ("exit 3", "exit code 3"),
        ("echo ValueError: bad >&2; exit 3", "exit code 3: ValueError: bad"),
    ],
)
def test_a_task_that_fails_is_started_again_and_the_cause_is_told(run_job, end, cause):
    done = run_job({"map": restart()}, f"{FIRST} && {{ {end}; }}; exit 0")
    assert done.returncode == 0, done.stderr
    told = rf"map:0: {cause}; starts again in 0\.0 s \(attempt 2, restart 1 of 10 in 5 min 0 s\)"
    assert re.search(told, done.stderr), done.stderr
    assert "map:0 starts: attempt 2" in done.stderr
    assert re.search(r"^map:0  completed, attempt 2 ", done.stdout, re.M)
    assert re.search(r"^ +attempt 1: ", done.stdout, re.M)
    assert re.match(r"job succeeded in .* s with 1 restart$", last_line(done))


def test_the_short_form_restarts_as_often_as_it_says(run):
    done = run("--job", "map=1", "--restart", "map=1", sh="exit 3")
    assert done.returncode == 1
    assert "restart 1 of 1)" in done.stderr
    assert last_line(done).endswith(
        "map:0: exit code 3; its role was restarted once, and may not be more often"
    )


@pytest.mark.parametrize(
    "flag, told",
    [
        ("mpa=3", "no such job; there are: map"),
        ("map=often", "is no way to restart; write never, on_failure, always"),
        ("map=always", "which would never end"),
    ],
)
def test_a_restart_that_makes_no_sense_is_refused(run, flag, told):
    done = run("--job", "map=1", "--restart", flag, sh="exit 0")
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_a_task_that_comes_back_has_the_name_the_port_and_a_bound_socket_of_its_own(
    millrace, job, tmp_path
):
    # Accepts one connection in each attempt, and dies in the first of it.
    program = tmp_path / "serve.py"
    program.write_text(
        """
import os, signal, socket, sys
at = os.environ["MILLRACE_LISTEN_ADDRESS"].split(":")
server = socket.socket(fileno=int(os.environ["MILLRACE_LISTEN_FD"]))
server.listen()
if os.environ["MILLRACE_ATTEMPT"] == "1":
    held = socket.create_connection((at[0], int(at[1])))
    taken, _ = server.accept()
    print("at", *at, os.environ["TF_CONFIG"], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
socket.create_connection((at[0], int(at[1])))
server.accept()
print("at", *at, os.environ["TF_CONFIG"], flush=True)
"""
    )
    done = run_file(millrace, job({"map": restart()}, f"exec python3 {program}"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^map:0    \| (at .*)$", done.stdout, re.M)
    assert len(told) == 2 and told[0] == told[1]


def test_in_a_pause_nobody_else_gets_the_port_and_who_calls_is_refused(start, job):
    roles = {"ps": "{restart: {pause: 1h, longest_pause: 1h}}", "map": "1"}
    is_ps = 'case "$TF_CONFIG" in *\'"type":"ps"\'*)'
    launcher = start(
        job(roles, "", until="map"),
        sh=f'{is_ps} echo "at $MILLRACE_LISTEN_ADDRESS"; exit 3;; esac;' + FOREVER,
    )
    told = read_until(launcher.stdout, "ps:0: exit code 3; starts again in")
    port = int(re.search(r"at 127\.0\.0\.1:(\d+)", told).group(1))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with socket.socket() as other:
        # Not even one who would share it.
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError):
            other.bind(("127.0.0.1", port))
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(timeout=PATIENCE) == 130


def test_each_attempt_has_a_log_of_its_own(run_job, tmp_path):
    logs = tmp_path / "logs"
    done = run_job(
        {"map": restart()},
        f"echo of $MILLRACE_ATTEMPT; {FIRST} && exit 3; exit 0",
        "--log-dir",
        logs,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_text() for path in logs.iterdir()} == {
        "map_0.log": "of 1\n",
        "map_0.2.log": "of 2\n",
    }


def test_a_crash_loop_spends_its_budget_and_the_job_says_so(run_job):
    done = run_job(
        {"ps": "1", "map": restart(budget="3 in 1h")},
        'case "$TF_CONFIG" in *\'"type":"ps"\'*) exec sleep 1000;; esac; exit 3',
    )
    assert done.returncode == 1
    assert done.stderr.count("starts again") == 3
    assert last_line(done).endswith(
        "with 3 restarts: map:0: exit code 3; its role was restarted 3 times within 1 h 0 min, "
        "and may not be more often"
    )


def test_a_window_that_is_over_lets_the_budget_recover(run_job):
    # Each attempt outlives the window of the restart before.
    done = run_job(
        {"map": restart(budget="1 in 50ms")}, 'sleep 0.1; [ "$MILLRACE_ATTEMPT" = 4 ] || exit 3'
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert last_line(done).endswith("with 3 restarts")


def test_the_limit_of_attempts_is_of_each_task(run_job):
    done = run_job({"map": restart(attempts=2)}, "exit 3")
    assert done.returncode == 1
    assert last_line(done).endswith("it was started 2 times, and may not be more often")


def test_only_the_failures_that_the_policy_names_are_followed_by_a_restart(run_job):
    only = restart(on="[3, SIGKILL]")
    ends = (
        '[ "$MILLRACE_ATTEMPT" = 1 ] && exit 3; [ "$MILLRACE_ATTEMPT" = 2 ] && kill -9 $$; exit 4'
    )
    done = run_job({"map": only}, ends)
    assert done.returncode == 1
    assert last_line(done).endswith("with 2 restarts: map:0: exit code 4")


def test_a_role_goes_on_without_the_tasks_that_it_may_lose(run_job):
    sh = 'case "$TF_CONFIG" in *\'"index":7\'*) exit 3;; esac; exit 0'
    done = run_job({"map": "{count: 10, may_lose: 10%}"}, sh)
    assert done.returncode == 0, done.stderr
    assert "map:7: exit code 3; the job goes on without it" in done.stderr
    assert last_line(done).endswith(" without map:7")


def test_one_loss_too_many_fails_the_job(run_job):
    sh = 'case "$TF_CONFIG" in *\'"index":7\'*|*\'"index":8\'*) exit 3;; esac; exec sleep 1000'
    done = run_job({"map": "{count: 10, may_lose: 10%}"}, sh)
    assert done.returncode == 1
    assert re.search(r"without map:[78]: map:[78]: exit code 3$", last_line(done))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_pause_ends_everything(start, job, lives, number):
    roles = {"worker": "{count: 2, restart: {pause: 1h, longest_pause: 1h}}"}
    launcher = start(
        *(job(roles, ""), "--env", f"LIVES={lives.path}"),
        sh='exec 9>"$LIVES"; echo $$ >&9;'
        + 'case "$TF_CONFIG" in *\'"index":1\'*) exit 3;; esac;'
        + FOREVER,
    )
    read_until(launcher.stdout, "worker:1: exit code 3; starts again")
    launcher.send_signal(number)
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 130
    assert "worker:1  interrupted (in the pause after: exit code 3)" in output
    assert "starts: attempt" not in output


def test_an_attempt_that_hangs_is_ended_with_the_job(start, lives):
    # The second attempt does not hear the request to end.
    hangs = f"{FIRST} && exit 3; trap '' TERM; echo $$ >&9; while :; do sleep 1; done"
    launcher = start(
        *("--job", "worker=1", "--restart", "worker=5", "--grace", "100ms"),
        *("--env", f"LIVES={lives.path}"),
        sh='exec 9>"$LIVES";' + hangs,
    )
    lives.wait_until_up(1)
    launcher.terminate()
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 130
    assert "interrupted (SIGKILL was needed), attempt 2" in output


def test_nothing_of_an_attempt_is_left_when_the_next_begins(start, lives):
    # A child that has left the task's session, and would live on.
    launcher = start(
        *("--job", "worker=1", "--restart", "worker=5", "--env", f"LIVES={lives.path}"),
        sh='exec 9>"$LIVES";'
        + f"{FIRST} || {{ exec 9>&-; exec sleep 1000; }};"
        + "setsid sh -c 'echo $$ >&9; touch \"$LIVES.up\"; exec sleep 1000' &"
        + 'until [ -e "$LIVES.up" ]; do sleep 0.01; done; exit 3',
    )
    read_until(launcher.stdout, "worker:0 starts: attempt 2")
    lives.wait_until_gone()
    launcher.terminate()
    assert launcher.wait(timeout=PATIENCE) == 130


def test_a_task_whose_keeper_is_killed_is_lost_and_comes_back_alone(start, lives):
    child = "setsid sh -c 'echo $$ >&9; exec sleep 1000' &"
    launcher = start(
        *("--job", "worker=1", "--restart", "worker=5", "--env", f"LIVES={lives.path}"),
        sh=f'{FIRST} || exit 0; exec 9>"$LIVES"; {child} echo $$ >&9; wait',
    )
    _, keeper = task_and_keeper(lives.wait_until_up(2))
    os.kill(keeper, signal.SIGKILL)
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 0, output
    assert "worker:0: lost: its keeper was killed by SIGKILL (signal 9); starts again" in output
    assert "worker:0  completed, attempt 2" in output


def test_what_kubernetes_does_differently_of_a_policy_stands_above_its_manifests(millrace, job):
    path = job({"map": "{restart: on_failure}"}, "exit 0", image="x", name="job")
    done = subprocess.run(
        [millrace, "explain", path, "--on", "k8s"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stdout.splitlines() if line.startswith("# role map: ")]
    assert len(notes) == 2 and "10 times" in notes[0] and "pauses" in notes[1]
    assert "backoffLimitPerIndex: 10" in done.stdout

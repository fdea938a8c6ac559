"""Tasks that a launcher reaches out for: they tell it where they are, and it tells them of each other.

A script stands in for srun, so that no cluster is needed; test_slurm.py has the real one.
"""

import json
import os
import re
import socket
import subprocess
import time

import pytest

from processes import PATIENCE

SRUN = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""


@pytest.fixture
def elsewhere(millrace, tmp_path):
    """elsewhere(script, *flags): the running launcher of a job with one ps and two workers."""
    srun = tmp_path / "srun"
    srun.write_text(SRUN)
    srun.chmod(0o755)
    started = []

    def elsewhere(script, *flags):
        launcher = subprocess.Popen(
            [millrace, "run", "--on", "srun", "--host", "127.0.0.1", "--job", "ps=1"]
            + ["--job", "worker=2", "--grace", "1s", *flags, "--", "sh", "-c", script],
            env={**os.environ, "SLURM_JOB_ID": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(launcher)
        return launcher

    yield elsewhere
    for launcher in started:
        launcher.kill()
        launcher.wait()
        launcher.stdout.close()


def test_every_task_learns_the_cluster_and_has_its_port_already(elsewhere):
    script = 'echo "config $TF_CONFIG" "listens $MILLRACE_LISTEN_ADDRESS" $A; ls -l /proc/self/fd/$MILLRACE_LISTEN_FD'
    output, _ = elsewhere(script, "--until", "ps,worker", "--env", "A=b").communicate(
        timeout=PATIENCE
    )
    found = re.findall(r"config (\{.*\}) listens (\S+) b", output)
    assert len(found) == 3, output
    configs = [json.loads(config) for config, _ in found]
    assert all(config["cluster"] == configs[0]["cluster"] for config in configs)
    for config, (_, address) in zip(configs, found):
        task = config["task"]
        assert config["cluster"][task["type"]][task["index"]] == address
    assert output.count("socket:[") == 3, output
    assert "job succeeded" in output


def test_a_task_elsewhere_tells_why_it_ended_over_its_connection(elsewhere):
    record = {"millrace_task": 1, "event": "ended", "task": "worker:1", "end": "failed"}
    record |= {"code": "UNAVAILABLE", "consequence": False, "error": "the dog ate it"}
    script = (
        "[ {job_name}{task_index} = worker1 ] || exec sleep 600; "
        f"echo '{json.dumps(record)}' >&$MILLRACE_REPORT_FD; exit 1"
    )
    launcher = elsewhere(script)
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 1
    assert re.search(r"worker:1 +exit code 1", output), output
    assert "the dog ate it" in output


def test_strangers_at_the_launchers_port_change_nothing(elsewhere, tmp_path):
    # One task waits to join until the strangers have been there.
    script = (tmp_path / "srun").read_text()
    gate = tmp_path / "gate"
    wait = f'case "$*" in *"ps --index"*) until [ -e {gate} ]; do sleep 0.05; done;; esac\n'
    (tmp_path / "srun").write_text(script.replace("exec", wait + "exec"))
    launcher = elsewhere("echo fine")
    deadline = time.monotonic() + PATIENCE
    port = None
    while port is None:
        assert time.monotonic() < deadline
        pids = subprocess.run(
            ["pgrep", "-f", "millrace join --at 127.0.0.1:"], capture_output=True, text=True
        ).stdout
        for pid in pids.split():
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if str(tmp_path).encode() not in file.read():
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found = re.search(rb"127\.0\.0\.1:(\d+)", file.read())
            except OSError:
                continue
            port = found and int(found[1])
        time.sleep(0.05)
    arrival = {"millrace_join": 1, "token": "guess", "task": "ps:0", "address": "a:1"}
    for said in (
        b"GET / HTTP/1.1\r\n\r\n",
        json.dumps(arrival).encode() + b"\n",
        b"\xff" * 70000 + b"\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stranger:
            stranger.sendall(said)
            answer = stranger.recv(4096)
            assert b"refused" in answer or answer == b""
    gate.touch()
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 0, output
    # The job ends with its workers, maybe before the other one has spoken.
    assert output.count("| fine") >= 2


def test_ports_are_not_released_elsewhere_and_that_is_said(elsewhere):
    launcher = elsewhere("true", "--release-ports")
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert (launcher.returncode, "leave out --release-ports" in output) == (2, True), output


def test_a_dry_run_shows_what_would_reach_out_and_starts_nothing(elsewhere, tmp_path):
    launcher = elsewhere(f"touch {tmp_path}/started", "--dry-run", "--cwd", "/")
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 0, output
    shown = output.split("\n\n")[1].splitlines()
    assert shown[:2] == ["# worker:0; its success decides", "cd /"]
    assert shown[2].startswith("srun --nodes=1 ")
    assert shown[2].endswith(
        " millrace join --at 127.0.0.1:PORT --job worker --index 0"
        " --leash --grace 1000ms --machine-from SLURMD_NODENAME"
        f" -- sh -c 'touch {tmp_path}/started'"
    )
    assert not (tmp_path / "started").exists()


def test_who_never_comes_is_named_while_the_others_wait(elsewhere, tmp_path):
    script = (tmp_path / "srun").read_text()
    (tmp_path / "srun").write_text(
        script.replace("exec", 'case "$*" in *"ps --index"*) exec sleep 600;; esac\nexec')
    )
    launcher = elsewhere("true", "--timeout", "2s")
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 1
    assert "waits for ps:0" in output
    assert "time limit" in output


NAMED = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
node=n7
while [ "${1#--}" != "$1" ]; do
  case "$1" in --nodelist=*) node=${1#--nodelist=};; esac
  shift
done
SLURMD_NODENAME=$node exec "$@"
"""


def test_a_task_that_fails_comes_back_on_its_machine_and_at_its_address(elsewhere, tmp_path):
    (tmp_path / "srun").write_text(NAMED)
    script = (
        'echo "attempt $MILLRACE_ATTEMPT at $MILLRACE_LISTEN_ADDRESS of $TF_CONFIG"; '
        "[ {job_name} = ps ] && exec sleep 600; "
        "[ {task_index}$MILLRACE_ATTEMPT = 11 ] && exit 3; exit 0"
    )
    launcher = elsewhere(script, "--until", "worker", "--restart", "worker=3")
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 0, output
    assert re.search(r"worker:1: exit code 3.*; starts again in", output), output
    assert re.search(r"worker:1 +completed, attempt 2", output), output
    told = re.findall(r"worker:1 +\| attempt (\d) at (.*)", output)
    assert [attempt for attempt, _ in told] == ["1", "2"]
    assert told[0][1] == told[1][1]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 4 and [call.split()[0] for call in calls if "nodelist" in call] == [
        "--nodelist=n7"
    ]


def test_a_task_elsewhere_is_asked_to_end_and_has_its_grace(elsewhere, tmp_path):
    script = (
        "[ {job_name} = worker ] && { until [ -e up ]; do sleep 0.1; done; exit 0; }; "
        "trap 'touch peace_{job_name}; exit 0' TERM; touch up; sleep 600 & wait"
    )
    launcher = elsewhere(script, "--until", "worker", "--cwd", str(tmp_path))
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 0, output
    assert (tmp_path / "peace_ps").exists(), output


def test_who_waits_for_a_task_that_could_not_come_is_told_so(elsewhere, millrace, tmp_path):
    script = (tmp_path / "srun").read_text()
    refuses = "echo 'srun: error: Unable to create step for job 1: no' >&2; exit 1"
    (tmp_path / "srun").write_text(
        script.replace("exec", f'case "$*" in *"ps --index"*) {refuses};; esac\nexec')
    )
    job = tmp_path / "job.yaml"
    job.write_text(
        "command: 'true'\nroles: {ps: {may_lose: 1}, worker: 2}\nuntil: worker\ngrace: 1s\n"
    )
    done = subprocess.run(
        [millrace, "run", "--on", "srun", "--host", "127.0.0.1", job],
        env={**os.environ, "SLURM_JOB_ID": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1, done.stdout
    assert "waits for ps:0, which has ended (could not start: Unable to create" in done.stdout


def test_absent_tasks_hold_their_places_and_come_when_they_are_wanted(millrace, tmp_path):
    (tmp_path / "srun").write_text(NAMED)
    (tmp_path / "squeue").write_text("#!/bin/sh\nexit 1\n")
    for name in ("srun", "squeue"):
        (tmp_path / name).chmod(0o755)
    folder = tmp_path / "kept"
    script = (
        'echo "{task_index} attempt $MILLRACE_ATTEMPT at $MILLRACE_LISTEN_ADDRESS of {map_hosts}" >> lives; '
        "until [ -e end ]; do sleep 0.05; done"
    )
    (tmp_path / "job.yaml").write_text(
        f"command: {json.dumps(['sh', '-c', script])}\n"
        "roles: {map: {count: 1, max: 3}}\ngrace: 1s\n"
    )
    launcher = subprocess.Popen(
        [millrace, "run", "--on", "srun", "--host", "127.0.0.1", "--folder", folder, "job.yaml"],
        env={**os.environ, "SLURM_JOB_ID": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def lives(count):
        deadline = time.monotonic() + PATIENCE
        while (
            not (tmp_path / "lives").exists()
            or len(lines := (tmp_path / "lives").read_text().splitlines()) < count
        ):
            assert time.monotonic() < deadline and launcher.poll() is None
            time.sleep(0.05)
        assert len(lines) == count
        return lines

    def wish(number, count):
        with open(folder / "wishes", "a") as wishes:
            wishes.write(json.dumps({"wish": number, "by": "a test", "counts": {"map": count}}))
            wishes.write("\n")

    def ended(count):
        deadline = time.monotonic() + PATIENCE
        while (folder / "journal").read_text().count('"ended":') < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    try:
        first = lives(1)
        wish("1", 3)
        lives(3)
        wish("2", 2)
        ended(1)
        hosts = first[0].split(" of ")[1].split(",")
        assert (folder / "roster").read_text() == f"map:2 {hosts[2]}\n"
        wish("3", 3)
        last = lives(4)[3]
    finally:
        (tmp_path / "end").touch()
    output, _ = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 0, output
    assert len(set(hosts)) == 3
    assert last == f"2 attempt 2 at {hosts[2]} of {','.join(hosts)}"
    # Those that held a place were there from the start; the next attempt is on the same machine.
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.startswith("--nodelist=n7 ") for call in calls] == [False] * 3 + [True]
    assert (folder / "roster").read_text() == ""

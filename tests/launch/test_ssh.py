"""Jobs on machines that are known by name alone, reached by ssh."""

import re
import signal
import subprocess

import pytest

from processes import PATIENCE
from ssh_machines import machines  # noqa: F401, a fixture

WRITES_PID = "echo $$ > {folder}/pid_{job_name}_{task_index}; "


def test_tasks_of_several_machines_know_each_other_and_the_job_ends_when_the_roles_have(machines):
    script = "[ {job_name} = worker ] || exec sleep 600; echo $MACHINE knows {worker_hosts} $A"
    running = machines.run(script, "--until", "worker", "--env", "A=b c")
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, output
    told = re.findall(r"worker:\d +\| (n\d) knows (\S+) b c$", output, re.MULTILINE)
    assert {machine for machine, _ in told} == {"n1", "n2"}, output
    assert len({hosts for _, hosts in told}) == 1
    assert re.search(r"ps:0 +stopped: job finished", output), output


def test_a_task_that_fails_is_told_with_its_last_words(machines):
    script = "[ {job_name}{task_index} = worker1 ] && { echo 'ValueError: bad record' >&2; exit 3; }; exec sleep 600"
    running = machines.run(script)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1, output
    assert re.search(r"worker:1 +exit code 3", output), output
    assert "last error: ValueError: bad record" in output
    assert re.search(r"worker:0 +stopped: worker:1 failed", output), output


def test_a_task_that_is_killed_is_told_from_one_that_fails(machines):
    script = "[ {job_name}{task_index} = worker0 ] && kill -9 $$; exec sleep 600"
    running = machines.run(script)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1, output
    assert re.search(r"worker:0 +exit code 137, as of SIGKILL", output), output


def test_who_is_told_to_end_may_say_its_last_words_and_leaves_nothing(machines):
    script = WRITES_PID + "trap 'echo bye; exit 0' TERM; sleep 600 & while :; do wait $!; done"
    running = machines.run(script)
    machines.wait_until(lambda: len(machines.pids()) == 3, "all tasks run")
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, output
    assert output.count("| bye") == 3, output
    assert machines.pids() == []


def test_who_does_not_end_when_told_is_killed_after_the_grace(machines):
    script = WRITES_PID + "trap '' TERM; while :; do sleep 600; done"
    running = machines.run(script, grace="300ms")
    machines.wait_until(lambda: len(machines.pids()) == 3, "all tasks run")
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, output
    machines.wait_until(lambda: machines.pids() == [], "nothing is left")


def test_a_launcher_that_is_killed_takes_its_tasks_along(machines):
    running = machines.run(WRITES_PID + "exec sleep 600")
    machines.wait_until(lambda: len(machines.pids()) == 3, "all tasks run")
    running.kill()
    running.wait()
    machines.wait_until(lambda: machines.pids() == [], "nothing is left")
    running.stdout.close()


def test_a_machine_that_is_lost_is_told(machines):
    running = machines.run(WRITES_PID + "exec sleep 600")
    machines.wait_until(lambda: len(machines.pids()) == 3, "all tasks run")
    machines.lose("n2")
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1, output
    # The second of all tasks is there alone.
    assert re.search(r"worker:0 +its machine is lost: Conn", output), output
    assert re.search(r"worker:1 +stopped: worker:0 failed", output), output
    machines.wait_until(lambda: machines.pids() == [], "nothing is left on either")


def test_a_task_that_comes_back_is_on_its_machine_at_its_port(machines):
    script = (
        "echo $MACHINE $MILLRACE_LISTEN_ADDRESS of {ps_hosts}, attempt=$MILLRACE_ATTEMPT; "
        "if [ {job_name} = ps ]; then "
        "[ -e {folder}/once ] || { touch {folder}/once; exit 3; }; "
        "touch {folder}/back; exec sleep 600; fi; until [ -e {folder}/back ]; do sleep 0.05; done"
    )
    running = machines.run(script, "--until", "worker", "--restart", "ps=3")
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, output
    told = re.findall(r"ps:0 +\| (\S+) (\S+) of (\S+), attempt=(\d*)$", output, re.MULTILINE)
    assert [attempt for *_, attempt in told] == ["1", "2"], output
    # Where the workers look for it, and there again.
    assert told[0][:3] == told[1][:3], output
    assert told[0][1] == told[0][2], output


def test_a_machine_that_can_not_be_reached_is_told(machines):
    machines.lose("n2")
    running = machines.run("exec sleep 600")
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1, output
    assert re.search(r"worker:0 +could not start: ssh: connect to host .* refused", output), output


def test_a_machine_whose_key_is_another_is_not_trusted(machines):
    known = (machines.folder / "known").read_text()
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", machines.folder / "other"], check=True
    )
    (machines.folder / "known").write_text(
        "n2 " + (machines.folder / "other.pub").read_text() + known.splitlines()[0] + "\n"
    )
    running = machines.run("exec sleep 600")
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1, output
    assert "could not start: Host key verification failed." in output, output


@pytest.mark.parametrize(
    "flags, told",
    [
        (["--on", "ssh"], "say which machines: --hosts"),
        (["--on", "ssh", "--hosts", "-oProxyCommand=x"], "is no machine"),
        (["--hosts", "n1"], "it goes with --on ssh"),
        (["--on", "ssh", "--hosts", "n1", "--release-ports"], "leave out --release-ports"),
    ],
)
def test_what_makes_no_sense_is_refused(millrace, flags, told):
    done = subprocess.run(
        [millrace, "run", "--job", "map=1", *flags, "--", "true"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2 and told in done.stderr, done.stderr

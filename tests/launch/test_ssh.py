"""Jobs on machines that are known by name alone, reached by ssh: a real sshd each, on this machine, with keys
of the test's own."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from processes import PATIENCE, default_signals

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
WRITES_PID = "echo $$ > {folder}/pid_{job_name}_{task_index}; "


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


class Machines:
    """n1 and n2, and the ssh that reaches them."""

    def __init__(self, folder, millrace):
        self.folder, self.millrace = folder, millrace
        self.daemons = {}
        (folder / "bin").mkdir()
        for key in ("host", "user"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True
            )
        shutil.copy(folder / "user.pub", folder / "authorized")
        config = (
            f"UserKnownHostsFile {folder}/known\nIdentityFile {folder}/user\nIdentitiesOnly yes\n"
            "GlobalKnownHostsFile none\n"
        )
        host_key = (folder / "host.pub").read_text()
        for name in ("n1", "n2"):
            port = free_port()
            config += f"Host {name}\nHostName 127.0.0.1\nHostKeyAlias {name}\nPort {port}\n"
            with open(folder / "known", "a") as known:
                known.write(f"{name} {host_key}")
            self.start(name, port)
        (folder / "config").write_text(config)
        ssh = folder / "bin" / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        ssh.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def start(self, name, port):
        path = self.folder / f"sshd_{name}"
        path.write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nStrictModes no\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nUsePAM no\nPidFile none\n"
            f"PermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 100\n"
            f"SetEnv PATH={Path(self.millrace).parent}:/usr/bin:/bin MACHINE={name}\n"
        )
        log = open(self.folder / f"{name}.log", "w")
        self.daemons[name] = subprocess.Popen([SSHD, "-D", "-e", "-f", path], stderr=log)
        log.close()
        deadline = time.monotonic() + PATIENCE
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            assert self.daemons[name].poll() is None, (self.folder / f"{name}.log").read_text()
            assert time.monotonic() < deadline, "sshd does not listen"
            time.sleep(0.02)

    def run(self, script, *flags, grace="2s"):
        script = script.replace("{folder}", str(self.folder))
        return subprocess.Popen(
            [self.millrace, "run", "--on", "ssh", "--hosts", "n1,n2", "--host", "127.0.0.1"]
            + ["--job", "ps=1", "--job", "worker=2", "--grace", grace, *flags, "--"]
            + ["sh", "-c", script],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=default_signals,
        )

    def pids(self):
        """The numbers that tasks wrote down, while they are those of living processes."""
        pids = [int(path.read_text() or 0) for path in self.folder.glob("pid_*")]
        return [pid for pid in pids if pid and Path(f"/proc/{pid}").exists()]

    def wait_until(self, found, what):
        deadline = time.monotonic() + PATIENCE
        while not found():
            assert time.monotonic() < deadline, what
            time.sleep(0.02)

    def lose(self, name):
        """All connections of a machine end at once, as when it is switched off."""
        daemon = self.daemons[name]
        sessions = children(daemon.pid)
        daemon.kill()
        daemon.wait()
        for session in sessions:
            for child in children(session):  # the part without privileges
                if Path(f"/proc/{child}/comm").read_text().strip().startswith("sshd"):
                    os.kill(child, signal.SIGKILL)
            os.kill(session, signal.SIGKILL)

    def close(self):
        for daemon in self.daemons.values():
            daemon.terminate()
            daemon.wait()


@pytest.fixture
def machines(tmp_path, millrace):
    if not os.access(SSHD, os.X_OK):
        pytest.skip("LEFT OUT, jobs by ssh: no sshd here; tools/setup managers installs it")
    if os.getuid() == 0:
        # Where it leaves its privileges; its package makes it when the machine starts.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    machines = Machines(tmp_path, millrace)
    yield machines
    machines.close()


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

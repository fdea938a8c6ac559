"""Machines that are known by name alone: a real sshd each, on this machine, with keys of the test's own."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from ports import free_port
from processes import PATIENCE, default_signals

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


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
        self.daemons, self.ports = {}, {}
        self.path = f"{Path(millrace).parent}:/usr/bin:/bin"
        (folder / "bin").mkdir()
        (folder / "here").mkdir()
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
            port = self.ports[name] = free_port()
            config += f"Host {name}\nHostName 127.0.0.1\nHostKeyAlias {name}\nPort {port}\n"
            with open(folder / "known", "a") as known:
                known.write(f"{name} {host_key}")
            self.start(name, port)
        (folder / "config").write_text(config)
        ssh = folder / "bin" / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        ssh.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def around(self):
        """Hides a folder from the machines, where root may: they share none."""
        if os.getuid() != 0:
            return []
        hide = f'mount -t tmpfs none {self.folder}/here && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", hide, "sh"]

    def start(self, name, port):
        path = self.folder / f"sshd_{name}"
        path.write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nStrictModes no\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nUsePAM no\nPidFile none\n"
            f"PermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 100\n"
            f"SetEnv PATH={self.path} MACHINE={name} "
            f"MILLRACE_SCRATCH={self.folder}/scratch_{name}\n"
        )
        (self.folder / f"scratch_{name}").mkdir(exist_ok=True)
        log = open(self.folder / f"{name}.log", "w")
        self.daemons[name] = subprocess.Popen(
            [*self.around(), SSHD, "-D", "-e", "-f", path], stderr=log
        )
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
        roles = ["--job", "ps=1", "--job", "worker=2", "--grace", grace, *flags, "--"]
        return self.start_job([*roles, "sh", "-c", script], self.folder)

    def start_job(self, words, folder):
        where = ["--on", "ssh", "--hosts", "n1,n2", "--host", "127.0.0.1"]
        return subprocess.Popen(
            [self.millrace, "run", *where, *words],
            env=self.environment,
            cwd=folder,
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

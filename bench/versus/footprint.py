"""Servers that are started to be watched: how soon they answer, and what they cost when idle."""

import pathlib
import re
import socket
import subprocess
import time

import interpreters

DEADLINE = 180.0  # seconds; a bound on hangs
QUIET = 1.5  # seconds after which a process has taken notice that nothing more comes
WATCHED = 1.0  # seconds for which an idle process is watched


def free_addresses(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return addresses


class Servers:
    """Tasks of one cluster, each a process that runs `command(index, addresses)`; killed at the end."""

    def __init__(self, library, count, command):
        self.addresses = free_addresses(count)
        self._processes = [
            subprocess.Popen(
                command(index, self.addresses),
                env=interpreters.environment(library),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for index in range(count)
        ]
        self.pids = [process.pid for process in self._processes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.kill()
            process.wait()

    def wait_until_bound(self):
        """A client that dials too soon would back off for a second, which isn't what is measured."""
        until = time.monotonic() + DEADLINE
        for address, process in zip(self.addresses, self._processes):
            host, port = address.split(":")
            while True:
                try:
                    socket.create_connection((host, int(port))).close()
                    break
                except ConnectionRefusedError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise RuntimeError(f"{process.args} did not come to serve") from None
                    time.sleep(0.001)


def program(library):
    """The command that starts a server by the Python program that is the same for both libraries."""
    script = str(interpreters.HERE / "server_program.py")
    return lambda index, addresses: [
        interpreters.python(library),
        script,
        library,
        str(index),
        *addresses,
    ]


def millrace_serve(index, addresses):
    """The command that starts a server without Python; TensorFlow's wheel has none."""
    return [
        str(interpreters.build() / "bin" / "millrace"),
        "serve",
        "--worker_hosts=" + ",".join(addresses),
        "--job_name=worker",
        f"--task_index={index}",
    ]


def of_idle_process(pid):
    time.sleep(QUIET)
    before = _sleeps(pid)
    time.sleep(WATCHED)
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = dict(re.findall(r"^(\w+):\s+(\d+)", status, re.M))
    return {
        "memory": int(found["VmRSS"]) * 1024 / 1e6,
        "threads": int(found["Threads"]),
        "wake-ups": (_sleeps(pid) - before) / WATCHED,
    }


def _sleeps(pid):
    """How often a thread of the process went to sleep, so far: as often, some thread woke up."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "status").read_text(encoding="ascii")
        total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M).group(1))
    return total

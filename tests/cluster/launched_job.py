"""A job of `millrace run` whose tasks a test looks at and sends signals to, while the launcher restarts them."""

import json
import os
import signal
import subprocess
import time

from bounds import DEADLINE, ROOT
from started_tasks import millrace_command


class Attempt:
    """One process of a task, from its start to its end."""

    def __init__(self, task, number, log):
        self.task, self.number = task, number  # ("ps", 0), 1
        self._log = log

    def has_begun(self):
        return self._log.exists()

    def output(self):
        return self._log.read_text(errors="replace") if self.has_begun() else ""


class LaunchedJob:
    """A launcher in the background. `text`: the job file's; the command is that of all tasks."""

    MARK = "JOB_OF_TEST"  # the variable by which its processes are known

    def __init__(self, folder, text, command, flags=()):
        self._logs = folder / "logs"
        self._said = folder / "launcher.log"
        path = folder / "job.yaml"
        path.write_text(f"command: {json.dumps([str(word) for word in command])}\n{text}")
        self.process = subprocess.Popen(
            [
                *(millrace_command(), "run", path, "--log-dir", self._logs),
                *("--env", f"{self.MARK}={self._said}", *flags),
            ],
            stdout=self._said.open("wb"),
            stderr=subprocess.STDOUT,
            cwd=ROOT,
        )

    def output(self):
        """What the launcher said itself, and the report."""
        lines = self._said.read_text(errors="replace").splitlines()
        tasks = [line for line in lines if " | " in line and not line.startswith("millrace ")]
        return "\n".join(line for line in lines if line not in tasks)

    def attempt(self, task, number):
        more = "" if number == 1 else f".{number}"
        return Attempt(task, number, self._logs / f"{task[0]}_{task[1]}{more}.log")

    def process_of(self, attempt):
        """Its number; nothing if it is not there."""
        for pid, variables in self._processes():
            config = json.loads(variables.get("TF_CONFIG", "{}")).get("task", {})
            if (config.get("type"), config.get("index")) != attempt.task:
                continue
            if variables.get("MILLRACE_ATTEMPT") == str(attempt.number) and is_task(pid):
                return pid
        return None

    def wait_for_process(self, attempt):
        end = time.monotonic() + DEADLINE
        while (pid := self.process_of(attempt)) is None:
            assert self.process.poll() is None, f"the launcher has ended:\n{self.output()}"
            assert time.monotonic() < end, f"{attempt.task} does not come:\n{self.output()}"
            time.sleep(0.02)
        return pid

    def left_behind(self):
        """The processes of tasks that are there."""
        return [pid for pid, _ in self._processes()]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def _processes(self):
        """(number, environment) of all processes whose environment is of this job."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    entries = file.read().split(b"\0")
            except OSError:
                continue  # it has ended, or is somebody else's
            variables = dict(
                entry.decode(errors="replace").split("=", 1) for entry in entries if b"=" in entry
            )
            if variables.get(self.MARK) == str(self._said):
                found.append((int(name), variables))
        return found


def is_task(pid):
    """Unlike its children it leads its process group, and unlike the keeper not a session."""
    try:
        return os.getpgid(pid) == pid != os.getsid(pid)
    except ProcessLookupError:
        return False

"""Tasks of a real cluster, each a process that the test starts when it wants to."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

from bounds import DEADLINE, ROOT

sys.path.append(str(ROOT / "tests" / "support"))

from ports import free_ports  # noqa: E402


def millrace_command():
    found = shutil.which("millrace")
    assert (
        found
    ), "no 'millrace' on the path: run this through `make test`, or source build/env.sh first"
    return found


class Task:
    def __init__(self, process, log):
        self.process = process
        self.log = log

    def output(self):
        return self.log.read_text(errors="replace")

    def wait_for(self, text):
        """Waits until the task has printed `text`."""
        deadline = time.monotonic() + DEADLINE
        while text not in self.output():
            assert time.monotonic() < deadline, f"never printed {text!r}:\n{self.output()}"
            assert (
                self.process.poll() is None or text in self.output()
            ), f"ended early:\n{self.output()}"
            time.sleep(0.02)

    def wait(self):
        """Exit code; negative for a signal."""
        return self.process.wait(timeout=DEADLINE)

    def signal(self, number):
        self.process.send_signal(number)


class Cluster:
    def __init__(self, folder, jobs):
        self.folder = folder
        self.jobs = jobs
        ports = iter(free_ports(sum(jobs.values())))
        self.spec = {job: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for job, n in jobs.items()}
        self.tasks = []

    def names(self):
        return [(job, i) for job, n in self.jobs.items() for i in range(n)]

    def address(self, job, index=0):
        return self.spec[job][index]

    def start(self, job, index, command, spec=None, limits=None, user=None, **environment):
        """`limits`: those of the system, {resource.RLIMIT_AS: bytes}; `environment`: more of it."""

        def limit():
            for kind, most in (limits or {}).items():
                resource.setrlimit(kind, (most, most))

        config = {"cluster": spec or self.spec, "task": {"type": job, "index": index}}
        log = self.folder / f"{job}_{index}_{len(self.tasks)}.log"
        process = subprocess.Popen(
            [str(c) for c in command],
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=dict(os.environ, TF_CONFIG=json.dumps(config), PYTHONUNBUFFERED="1", **environment),
            preexec_fn=limit,
            user=user,
        )
        task = Task(process, log)
        self.tasks.append(task)
        return task

    def serve(self, job, index=0):
        """A task that only serves, up and answering."""
        task = self.start(job, index, [millrace_command(), "serve"])
        task.wait_for("serving")
        return task

    def stop(self):
        for task in self.tasks:
            if task.process.poll() is None:
                task.process.send_signal(signal.SIGKILL)
            task.process.wait()

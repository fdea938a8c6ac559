"""Tasks of a cluster as processes: Millrace servers, and TensorFlow servers beside them."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

from ports import free_ports  # noqa: E402

DEADLINE = 60.0  # seconds; a bound on hangs, not a measure of speed


def millrace_command():
    found = shutil.which("millrace") or str(ROOT / "build" / "bin" / "millrace")
    assert os.path.exists(found), "no 'millrace': run this through `make test`"
    return found


class Task:
    """One process that serves; `log` holds what it prints."""

    def __init__(self, pid, log, wait):
        self.pid = pid
        self.log = log
        self._wait = wait  # (seconds) -> exit code, or None

    def output(self):
        return self.log.read_text(errors="replace")

    def wait_until_serving(self):
        deadline = time.monotonic() + DEADLINE
        while "serving" not in self.output():
            code = self._wait(0)
            assert code is None, f"ended with {code} before it served:\n{self.output()}"
            assert time.monotonic() < deadline, f"never served:\n{self.output()}"
            time.sleep(0.01)

    def wait(self):
        """The exit code, negative for a signal; None if it still runs after a long time."""
        return self._wait(DEADLINE)

    def kill(self, number=signal.SIGKILL):
        if self.running():  # else its number may be another process's by now
            os.kill(self.pid, number)
        return self._wait(DEADLINE)

    def running(self):
        return self.exit_code() is None

    def exit_code(self):
        return self._wait(0)


def start_millrace(config, log, *flags):
    process = subprocess.Popen(
        [millrace_command(), "serve", *flags],
        stdin=subprocess.DEVNULL,
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
        env=dict(os.environ, TF_CONFIG=json.dumps(config)),
    )

    def wait(seconds):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    return Task(process.pid, log, wait)


class Zygote:
    """A process that has imported TensorFlow, and forks a server or a program for each line it is sent."""

    def __init__(self, folder, python=sys.executable, stderr=None):
        self._folder = folder
        self._python = python  # an interpreter that has TensorFlow
        self._stderr = stderr  # where what TensorFlow says at its import goes; None: on ours
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process:
            self._process.stdin.close()
            self._process.wait(DEADLINE)

    def _ask(self, **request):
        if self._process is None:
            self._process = subprocess.Popen(
                [self._python, str(pathlib.Path(__file__).with_name("tf_zygote.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                text=True,
            )
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, config, log):
        """A server of TensorFlow."""
        return self._task(log, start=config)

    def run(self, command, config, log):
        """A Python program, [path, argument, …], which finds TensorFlow imported already."""
        return self._task(log, start=config, run=[str(each) for each in command])

    def _task(self, log, **request):
        log.touch()  # whoever waits for the task reads it, maybe before the task writes it
        pid = self._ask(log=str(log), **request)
        ended = []  # the exit code; not by pid, because the system uses numbers again

        def wait(seconds):
            deadline = time.monotonic() + seconds
            while not ended:
                code = self._ask(poll=pid)
                if code is not None:
                    ended.append(code)
                elif time.monotonic() >= deadline:
                    return None
                else:
                    time.sleep(0.01)
            return ended[0]

        return Task(pid, log, wait)


class Cluster:
    """Tasks by name, "worker:0". Those listed in `tensorflow` are TensorFlow's, the rest Millrace's.

    jobs: counts ({"worker": 2}) or indices ({"worker": [0, 5]}, a sparse spec).
    """

    def __init__(self, folder, jobs, tensorflow=(), zygote=None):
        self.folder = folder
        self.tensorflow = {tensorflow} if isinstance(tensorflow, str) else set(tensorflow)
        self.zygote = zygote
        indices = {job: range(n) if isinstance(n, int) else n for job, n in jobs.items()}
        ports = iter(free_ports(sum(len(i) for i in indices.values())))
        self.addresses = {
            f"{job}:{i}": f"127.0.0.1:{next(ports)}" for job in indices for i in indices[job]
        }
        self.sparse = any(not isinstance(n, int) for n in jobs.values())
        self.tasks = {}
        unknown = self.tensorflow - set(self.addresses)
        assert not unknown, f"no such task: {unknown}; there are {list(self.addresses)}"

    def spec(self):
        """As TF_CONFIG and tf.train.ClusterSpec take it."""
        jobs = {}
        for name, address in self.addresses.items():
            job, index = name.split(":")
            jobs.setdefault(job, {})[index if self.sparse else int(index)] = address
        return {j: t if self.sparse else [t[i] for i in sorted(t)] for j, t in jobs.items()}

    def start(self, name):
        """Starts a task, or starts it again; returns when it serves."""
        job, index = name.split(":")
        config = {"cluster": self.spec(), "task": {"type": job, "index": int(index)}}
        log = self.folder / f"{job}_{index}_{len(list(self.folder.iterdir()))}.log"
        starter = self.zygote.start if name in self.tensorflow else start_millrace
        self.tasks[name] = starter(config, log)
        self.tasks[name].wait_until_serving()
        return self.tasks[name]

    def start_all(self):
        for name in self.addresses:
            self.start(name)

    def target(self, name):
        """The session target of a task: "worker:1", or "worker" for worker:0."""
        return "grpc://" + self.addresses[name if ":" in name else f"{name}:0"]

    def stop(self):
        for task in self.tasks.values():
            task.kill()

"""Servers for one attempt at a test: Millrace's as programs, TensorFlow's as forked processes."""

import os
import re
import time

import tasks
from judge.processes import take_output

_ALONE = {"localhost": ["localhost:0"]}  # names its devices as a session in process does


class MillraceServers:
    """The servers that one attempt starts, in its own process group: whoever kills that kills them."""

    def __init__(self, folder):
        self._folder = folder
        self._started = []
        self._alone = {}  # by number of CPU devices

    def target(self, cpu_devices):
        if cpu_devices not in self._alone:
            config = {"cluster": _ALONE, "task": {"type": "localhost", "index": 0}}
            self._alone[cpu_devices] = self._start(config, f"--cpu-devices={cpu_devices}")
        return self._alone[cpu_devices].target

    def start(self, definition):
        """definition: tensorflow.ServerDef; raises what TensorFlow raises."""
        from tensorflow.python.framework import errors

        jobs = {
            job.name: {str(i): a for i, a in job.tasks.items()} for job in definition.cluster.job
        }
        task = {"type": definition.job_name, "index": definition.task_index}
        defaults = definition.default_session_config
        flags = [f"--cpu-devices={max(1, defaults.device_count.get('CPU', 1))}"]
        if defaults.operation_timeout_in_ms > 0:
            flags.append(f"--operation-timeout-ms={defaults.operation_timeout_in_ms}")
        try:
            return self._start({"cluster": jobs, "task": task}, *flags)
        except CannotServe as error:
            if error.exit_code == 2:
                raise errors.InvalidArgumentError(None, None, str(error))
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {error}")

    def _start(self, config, *flags):
        log = self._folder / f"server_{len(self._started)}.log"
        server = _Millrace(tasks.start_millrace(config, log, *flags))
        self._started.append(server)
        return server

    def deaths(self):
        """How servers ended that should be running."""
        return [text for server in self._started for text in server.death()]


class CannotServe(Exception):
    def __init__(self, text, exit_code):
        super().__init__(text)
        self.exit_code = exit_code


class _Millrace:
    def __init__(self, task):
        self._task = task
        self.target = None
        while not self.target:
            found = re.search(r"^serving \S+ at (\S+)$", task.output(), re.MULTILINE)
            if found:
                self.target = f"grpc://{found[1]}"
            elif not task.running():
                raise CannotServe(task.output().strip(), task.exit_code())
            else:
                time.sleep(0.002)

    def join(self):
        while self._task.running():
            time.sleep(0.05)

    def death(self):
        if self._task.running():
            return []
        lines = "\n".join(self._task.output().strip().split("\n")[-15:])
        return [f"a Millrace server ended with exit code {self._task.exit_code()}:\n{lines}"]


class TensorFlowServer:
    """Forked from a process that has imported TensorFlow and opened nothing."""

    def __init__(self, log, cpu_devices):
        self._log = log
        self._log.touch()
        self.target = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._serve(cpu_devices)
            finally:
                os._exit(1)

    def _serve(self, cpu_devices):
        from tensorflow.core.protobuf import config_pb2
        from tensorflow.python.training import server_lib

        os.setpgid(0, 0)
        take_output(self._log)
        config = config_pb2.ConfigProto(device_count={"CPU": cpu_devices})
        server = server_lib.Server(_ALONE, config=config, protocol="grpc")
        os.write(1, f"\nserving at {server.target}\n".encode())
        server.join()

    def serving(self):
        found = re.search(
            r"^serving at (\S+)\n", self._log.read_text(errors="replace"), re.MULTILINE
        )
        self.target = found and found[1]
        return bool(found)

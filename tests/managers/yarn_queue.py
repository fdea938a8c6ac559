"""A real YARN of three machines, which tools/yarn-cluster runs on this one, and jobs there."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest

from kerberos_realm import curl
from managed import PATIENCE, KeptJobs

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tools" / "yarn-cluster"
NOT_THERE = 3
GETTING_IT = 960  # once on a machine


@contextlib.contextmanager
def running_yarn(*hidden, environment=None, options=()):
    """The environment in which millrace finds a cluster whose machines do not see the hidden folders; made
    with these options of tools/yarn-cluster."""
    built = subprocess.run([CLUSTER, "build"], capture_output=True, text=True, timeout=GETTING_IT)
    if built.returncode == NOT_THERE:
        pytest.skip(f"LEFT OUT, jobs on a real YARN: {built.stderr}")
    folder = Path(tempfile.mkdtemp(prefix="yarn-"))
    folder.chmod(0o755)  # containers may be somebody else's
    up = subprocess.run(
        [CLUSTER, "up", *options, folder, *hidden],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    try:
        if up.returncode == NOT_THERE:
            pytest.skip(f"LEFT OUT, jobs on a real YARN: {up.stderr}")
        assert up.returncode == 0, up.stderr
        yield {**os.environ, "HADOOP_CONF_DIR": str(folder / "conf")}
    finally:
        subprocess.run([CLUSTER, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


@contextlib.contextmanager
def running_yarn_without_us(options=()):
    """Likewise, of machines that see neither our programs, as they are installed, nor jobs: and the folder that jobs
    are to be below."""
    if os.geteuid() != 0:
        pytest.skip("LEFT OUT, jobs without shared folders: only root hides folders")
    with tempfile.TemporaryDirectory(prefix="programs-") as programs:
        for name in ("millrace", "word_count"):
            path = shutil.which(name)
            assert path, f"no {name} on the PATH; source build/env.sh"
            # Without what debuggers read.
            subprocess.run(["strip", "-o", f"{programs}/{name}", path], check=True)
        with tempfile.TemporaryDirectory(prefix="jobs-") as jobs:
            # Nor do the machines find `millrace` where this one does.
            ours = [
                path for path in os.environ["PATH"].split(":") if not path.startswith(str(ROOT))
            ]
            environment = {**os.environ, "PATH": ":".join(ours)}
            hidden = (programs, jobs, ROOT / "build" / "bin", ROOT / "build" / "examples")
            with running_yarn(*hidden, environment=environment, options=options) as found:
                path = f"{programs}:{found['PATH']}"
                yield {**found, "PATH": path, "HADOOP_USER_NAME": "root"}, Path(jobs)


class Queue(KeptJobs):
    """Of YARN."""

    def url(self, path):
        """Of something that the ResourceManager knows."""
        conf = (Path(self.environment["HADOOP_CONF_DIR"]) / "yarn-site.xml").read_text()
        address = re.search(r"resourcemanager.webapp.address</name><value>([^<]*)", conf)[1]
        return f"http://{address}/ws/v1/cluster/{path}"

    def manager(self, path, method="GET", body=None):
        """What the ResourceManager says of something."""
        request = urllib.request.Request(
            self.url(path),
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def application(self):
        kept = self.folder / "kept" / "yarn" / "words" / "submission"
        return re.search(r"application_\d+_\d+", kept.read_text())[0]

    def ended_application(self):
        """What YARN says of the job when it is over."""
        path = f"apps/{self.application()}"
        return self.wait_until(
            lambda: (app := self.manager(path)["app"])["state"] == "FINISHED" and app,
            "YARN notes the end",
        )

    def left(self):
        """What YARN still has to do with jobs, and what is kept of them."""
        active = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
        apps = (self.manager(f"apps?states={active}")["apps"] or {}).get("app", [])
        return [app["name"] for app in apps], self.names()

    def kill_launcher(self):
        """As its machine would for want of memory, with all that it has below it."""
        app = self.application()
        found = [
            entry
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and b"\0yarn-am\0" in (entry / "cmdline").read_bytes()
            and app.encode() in (entry / "environ").read_bytes()
        ]
        # None of them is to see another one's end.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for entry in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(entry.name), number)
        assert found, "the launcher of the job runs on this machine"

    def num_containers(self):
        nodes = self.manager("nodes?states=RUNNING")["nodes"]["node"]
        return sum(node["numContainers"] for node in nodes)

    def kill(self, daemon):
        pid = (
            Path(self.environment["HADOOP_CONF_DIR"]).parent / "run" / f"{daemon}.pid"
        ).read_text()
        os.kill(int(pid), signal.SIGKILL)

    def bring_back(self):
        """What was killed of the cluster."""
        done = self.run(CLUSTER, "up", Path(self.environment["HADOOP_CONF_DIR"]).parent)
        assert done.returncode == 0, done.stderr

    def end_all(self):
        """Whatever a test has left running."""
        for app in (self.manager("apps?states=ACCEPTED,RUNNING")["apps"] or {}).get("app", []):
            self.manager(f"apps/{app['id']}/state?user.name=root", "PUT", {"state": "KILLED"})
        self.wait_until(lambda: self.num_containers() == 0, "the test's containers are gone")


class KerberosQueue(Queue):
    """Of a YARN that believes nobody without a ticket."""

    def __init__(self, environment, folder, tickets):
        super().__init__("yarn", {**environment, **tickets.environment}, folder)
        self.tickets = tickets
        tickets.get()

    def manager(self, path, method="GET", body=None):
        words = ["--request", method, "--header", "Content-Type: application/json"]
        if body is not None:
            words += ["--data", json.dumps(body)]
        return json.loads(curl(self.url(path), self.tickets, *words))

"""How soon a job is at work on a cluster: word count's first step beyond what the cluster's manager takes by itself for a
task that only says something.

usage: python3 bench/managers_bench.py [--on slurm|k8s|yarn ...] [--rounds N] [--timeline]

A round is the manager's own way and then ours, so that what else the machine does comes to both. The clusters are those
that `tools/slurm-cluster up`, `tools/k8s-cluster up` and `tools/yarn-cluster up` have made in their own folders, or
those that SLURM_CONF, KUBECONFIG and HADOOP_CONF_DIR name; one that is not there is left out, loudly.

What is the manager's own:
  slurm  sbatch of a script with `srun echo`: a job that is left there, and one step in it. Beside that srun alone, whose
         allocation Slurm looks for at once, and not in its next turn.
  k8s    a Job of one pod of the same image that says something, until its log has that. Beside that, a pod alone, and
         a Job of as many pods as word count has: containers of one machine begin one after the other.
  yarn   an application of two containers, one after the other, as a launcher and a task are: from its submission to the
         first line of its application master's container, twice. No program of Hadoop's is in it, whose JVMs would take
         longer than that.

--timeline tells of the last round when what happened, in seconds since the command began.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from figures import report, rounds

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOLS = ROOT / "tools"
ROUNDS = 9
GOAL = 1
IMAGE = "millrace.test/words:1"
WORDS = rb"words in"
PATIENCE = 120
TASKS = 4  # of word count


class NotThere(Exception):
    """Of a cluster: which one, and how it would be."""


def seconds_to_line(command, mark, environment, folder, timeline=None):
    """From the start of a command until it writes a line with the mark; it has to succeed. Into `timeline` goes each of
    its lines, with its time."""
    start = time.perf_counter()
    seen = None
    lines = []
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        for line in run.stdout:
            now = time.perf_counter() - start
            lines.append(line)
            if timeline is not None:
                timeline.append((time.time(), line.decode(errors="replace").rstrip()))
            if seen is None and re.search(mark, line):
                seen = now
    said = b"".join(lines[-20:]).decode(errors="replace")
    assert run.returncode == 0 and seen is not None, f"{command}: {run.returncode}\n{said}"
    return seen


def seconds_to_text(path, mark):
    """From now until the file has it."""
    start = time.perf_counter()
    while not (path.exists() and mark in path.read_bytes()):
        assert time.perf_counter() < start + PATIENCE, f"{path} never has {mark}"
        time.sleep(0.002)
    return time.perf_counter() - start


class Cluster:
    """One of them, with a folder for jobs."""

    name = ""
    as_many = None  # which of empty_tasks() starts as many as word count has
    # Of the command that runs word count there.
    image = []

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "MILLRACE_JOBS": str(folder / "jobs")}
        self.number = 0
        # Where a manager starts a script of ours when it likes to: from that script's start on.
        self.since_begun = []
        self.own_since_begun = []

    def run(self, *words, **options):
        done = subprocess.run(
            words,
            env=self.environment,
            cwd=self.folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def texts(self):
        """The list of what is counted, as tasks see it."""
        (self.folder / "text").write_text("one two three\n" * 10)
        path = self.folder / "list"
        path.write_text(f"{self.folder / 'text'}\n" * 4)
        return path

    def word_count(self):
        return shutil.which("word_count")

    def first_step(self, timeline=None):
        """From `millrace run` to the first step of word count."""
        self.number += 1
        name = f"words-{self.number}"
        roles = ["--job", "files=1", "--job", "reduce=1", "--job", "map=2", "--until", "map"]
        command = ["millrace", "run", "--on", self.name, "--name", name, *self.image, *roles]
        command += ["--", self.word_count(), str(self.texts())]
        start = time.time()
        took = seconds_to_line(command, WORDS, self.environment, self.folder, timeline)
        self.note_begun(name, start + took)
        self.run("millrace", "stop", name, "--on", self.name)
        self.settle()
        return took

    def note_begun(self, name, first_step):
        """Of a job whose first step was at that time of the wall's clock."""

    def settle(self):
        """Returns when the manager has nothing more to do with what was."""


class Slurm(Cluster):
    name = "slurm"

    def __init__(self, folder):
        super().__init__(folder)
        own = ROOT / "build" / "slurm" / "slurm.conf"
        self.environment.setdefault("SLURM_CONF", str(own))
        # Without its file, sinfo looks for one elsewhere, for a minute.
        is_there = (
            shutil.which("sinfo")
            and pathlib.Path(self.environment["SLURM_CONF"]).exists()
            and subprocess.run(
                ["timeout", "5", "sinfo", "-h"], env=self.environment, capture_output=True
            ).returncode
            == 0
        )
        if not is_there:
            raise NotThere("a Slurm: tools/slurm-cluster up makes one, and says what it lacks")

    def empty_tasks(self):
        srun = ["srun", "--ntasks=1", "echo", "nothing"]
        return {
            "sbatch of srun echo": self.batch,
            "srun echo": lambda: seconds_to_line(srun, b"nothing", self.environment, self.folder),
        }

    def batch(self):
        self.number += 1
        output = self.folder / f"out-{self.number}"
        script = self.folder / "nothing.sh"
        script.write_text("#!/bin/bash\n#SBATCH --ntasks=1\ndate +%s.%N\nsrun echo nothing\n")
        start = time.perf_counter()
        self.run("sbatch", f"--output={output}", script)
        seconds_to_text(output, b"nothing")
        self.since_begun.append(time.time() - float(output.read_text().split()[0]))
        return time.perf_counter() - start

    def note_begun(self, name, first_step):
        journal = self.folder / "jobs" / "slurm" / name / "journal"
        begun = json.loads(journal.read_text().splitlines()[0])["begun"] / 1e6
        self.own_since_begun.append(first_step - begun)

    def settle(self):
        while self.run("squeue", "--noheader"):
            time.sleep(0.1)


class Kubernetes(Cluster):
    name = "k8s"
    # What it takes by itself for as many containers as word count has.
    as_many = "a Job of four pods that echo, until the last has"
    image = ["--image", IMAGE]

    def __init__(self, folder):
        super().__init__(folder)
        home = ROOT / "build" / "kubernetes" / "run"
        own = sorted(home.glob("**/admin.kubeconfig"))
        if own:
            self.environment.setdefault("KUBECONFIG", str(own[0]))
        self.environment["PATH"] = f"{home / 'bin'}:{self.environment['PATH']}"
        try:
            self.run("kubectl", "get", "nodes", "--request-timeout=5s")
        except (OSError, AssertionError):
            raise NotThere(
                "a Kubernetes: tools/k8s-cluster up makes one, and says what it lacks"
            ) from None
        self.load(home)

    def load(self, home):
        """The image of word count, with a text, onto the cluster of tools/k8s-cluster."""
        (self.folder / "texts").mkdir()
        (self.folder / "texts" / "text").write_text("one two three\n" * 10)
        (self.folder / "texts" / "list").write_text("/texts/text\n" * 4)
        words = []
        for name in ("millrace", "word_count"):
            # What debuggers read is most of them.
            self.run("strip", "-o", self.folder / name, shutil.which(name))
            words.append(f"{self.folder / name}=/usr/bin/{name}")
        image = self.folder / "words.tar"
        words += [f"{self.folder / 'texts'}=/texts", "/bin/echo=/usr/bin/echo"]
        self.run(TOOLS / "image", "--tag", IMAGE, "--output", image, *words)
        self.run(TOOLS / "k8s-cluster", "load", home, image)

    def texts(self):
        return "/texts/list"

    def word_count(self):
        return "word_count"

    def empty_tasks(self):
        return {
            "a Job that echoes": self.job,
            "a pod that echoes": self.pod,
            self.as_many: self.job_of_as_many,
        }

    def job(self):
        return self.echo("job", lambda name: ["create", "job", name, f"--image={IMAGE}"])

    def pod(self):
        words = [f"--image={IMAGE}", "--restart=Never", "--command"]
        return self.echo("pod", lambda name: ["run", name, *words])

    def echo(self, kind, words):
        """Of one that kubectl makes by these words, with its name in them."""
        self.number += 1
        name = f"nothing-{self.number}"
        start = time.perf_counter()
        self.run("kubectl", *words(name), "--", "echo", "nothing")
        self.await_log(f"{kind}/{name}")
        took = time.perf_counter() - start
        self.run("kubectl", "delete", f"{kind}/{name}")
        return took

    def job_of_as_many(self):
        self.number += 1
        name = f"nothing-{self.number}"
        task = {"name": "task", "image": IMAGE, "command": ["echo", "nothing"]}
        pod = {"spec": {"restartPolicy": "Never", "containers": [task]}}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"completions": TASKS, "parallelism": TASKS, "template": pod},
        }
        (self.folder / "job.json").write_text(json.dumps(job))
        start = time.perf_counter()
        self.run("kubectl", "create", "-f", self.folder / "job.json")
        logs = ["kubectl", "logs", f"--selector=job-name={name}"]
        while True:
            done = subprocess.run(logs, env=self.environment, capture_output=True, timeout=PATIENCE)
            if done.stdout.count(b"nothing") == TASKS:
                break
            assert time.perf_counter() < start + PATIENCE, done.stderr
        took = time.perf_counter() - start
        self.run("kubectl", "delete", f"job/{name}")
        return took

    def await_log(self, name):
        """kubectl has no word for it: one call after the other, of some 50 ms each."""
        until = time.perf_counter() + PATIENCE
        logs = ["kubectl", "logs", "--follow", name]
        while True:
            done = subprocess.run(logs, env=self.environment, capture_output=True, timeout=PATIENCE)
            if b"nothing" in done.stdout:
                return
            assert time.perf_counter() < until, done.stderr

    def settle(self):
        while self.run("kubectl", "get", "pods", "--no-headers"):
            time.sleep(0.1)


class Yarn(Cluster):
    name = "yarn"

    def __init__(self, folder):
        super().__init__(folder)
        own = ROOT / "build" / "hadoop" / "run" / "conf"
        self.environment.setdefault("HADOOP_CONF_DIR", str(own))
        site = pathlib.Path(self.environment["HADOOP_CONF_DIR"]) / "yarn-site.xml"
        try:
            found = re.search(
                r"resourcemanager.webapp.address</name>\s*<value>([^<]*)", site.read_text()
            )
            self.manager = f"http://{found[1]}/ws/v1/cluster"
            self.call("info")
        except (OSError, TypeError):
            raise NotThere(
                "a YARN: tools/yarn-cluster up makes one, and says what it lacks"
            ) from None

    def call(self, path, method="GET", body=None):
        """What the ResourceManager answers."""
        request = urllib.request.Request(
            f"{self.manager}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else {}

    def empty_tasks(self):
        return {"two containers, one after the other": lambda: self.container() + self.container()}

    def container(self):
        """From an application's submission to the first line of its first container, which then ends."""
        self.number += 1
        output = self.folder / f"out-{self.number}"
        start = time.perf_counter()
        name = self.call("apps/new-application?user.name=root", "POST")["application-id"]
        self.call(
            "apps?user.name=root",
            "POST",
            {
                "application-id": name,
                "application-name": "nothing",
                "application-type": "nothing",
                "max-app-attempts": 1,
                "am-container-spec": {"commands": {"command": f"echo nothing > {output}"}},
                "resource": {"memory": 256, "vCores": 1},
            },
        )
        seconds_to_text(output, b"nothing")
        return time.perf_counter() - start

    def settle(self):
        states = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
        while (self.call(f"apps?states={states}")["apps"] or {}).get("app"):
            time.sleep(0.1)


CLUSTERS = {kind.name: kind for kind in (Slurm, Kubernetes, Yarn)}


def measure(cluster, most, shows_timeline):
    """The figures of one cluster."""
    own = {name: [] for name in cluster.empty_tasks()}
    ours, beyond, beyond_as_many, timeline = [], [], [], []
    for is_counted in rounds(most):
        timeline.clear()
        began = time.time()
        took = {}
        for name, start in cluster.empty_tasks().items():
            took[name] = start()
            cluster.settle()
        began = time.time()
        first = cluster.first_step(timeline)
        if not is_counted:
            continue
        for name, seconds in took.items():
            own[name].append(seconds)
        ours.append(first)
        beyond.append(first - next(iter(took.values())))
        if cluster.as_many:
            beyond_as_many.append(first - took[cluster.as_many])
    for name, seconds in own.items():
        report(f"{cluster.name}, its own: {name}", "s", seconds)
    report(f"{cluster.name}, word count, from run to its first step", "s", ours)
    # Where it can be had without what the manager's queue takes, which differs by seconds from round to round.
    pairs = list(zip(cluster.own_since_begun, cluster.since_begun))[1:]
    report(f"{cluster.name}, the same beyond an empty task", "s", beyond, None if pairs else GOAL)
    if beyond_as_many:
        report(f"{cluster.name}, the same beyond four empty tasks", "s", beyond_as_many, GOAL)
    if pairs:
        name = f"{cluster.name}, the same, each from the start of its script"
        report(name, "s", [own - empty for own, empty in pairs], GOAL)
    if shows_timeline:
        for when, line in timeline:
            print(f"{when - began:7.3f}  {line}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", action="append", choices=list(CLUSTERS), help="which (all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="that count (%(default)s)")
    parser.add_argument("--timeline", action="store_true")
    options = parser.parse_args()
    for name in options.on or CLUSTERS:
        with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as folder:
            # Managers' own users have to get in.
            os.chmod(folder, 0o755)
            try:
                cluster = CLUSTERS[name](pathlib.Path(folder))
            except NotThere as lacks:
                print(f"LEFT OUT: {lacks}", file=sys.stderr)
                continue
            measure(cluster, options.rounds, options.timeline)


if __name__ == "__main__":
    main()

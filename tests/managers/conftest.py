"""Jobs on a real Kubernetes of two nodes, which `tools/k8s-cluster` runs on this machine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.register_assert_rewrite("managed")
sys.path.append(str(ROOT / "tests" / "support"))
from managed import PATIENCE  # noqa: E402

CLUSTER = ROOT / "tools" / "k8s-cluster"
NOT_THERE = 3
IMAGE = "millrace.test/tasks:1"
TRAINING = "03_digits_on_a_cluster"


def pytest_addoption(parser):
    parser.addoption(
        "--cluster", help="the folder of a k8s-cluster that runs already, and is left running"
    )


def texts(folder, count, words):
    """A list of texts for the image, and how many words there are."""
    places = []
    for i in range(count):
        (folder / f"text_{i}").write_text("word " * words)
        places.append(f"/texts/text_{i}\n")
    (folder / "list").write_text("".join(places))
    return count * words


@pytest.fixture(scope="session")
def cluster(request, tmp_path_factory):
    """The environment in which kubectl reaches the cluster, with the image of the tasks on it."""
    given = request.config.getoption("--cluster", default=None)
    folder = Path(given).resolve() if given else tmp_path_factory.mktemp("kubernetes")
    up = subprocess.run([CLUSTER, "up", folder], capture_output=True, text=True, timeout=400)
    if up.returncode == NOT_THERE:
        pytest.skip(up.stderr)
    try:
        assert up.returncode == 0, up.stderr
        environment = dict(os.environ)
        environment["KUBECONFIG"] = re.search("KUBECONFIG=(.*)", up.stdout)[1]
        environment["PATH"] = f"{folder}/bin:{environment['PATH']}"
        load_tasks(folder, tmp_path_factory.mktemp("image"))
        yield environment
    finally:
        if not given:
            subprocess.run([CLUSTER, "down", folder], check=True, timeout=120)


def load_tasks(cluster_folder, folder):
    programs = {name: shutil.which(name) for name in ("millrace", "word_count", TRAINING)}
    if None in programs.values():
        pytest.fail(f"no {' or '.join(programs)} on the PATH; source build/env.sh")
    list_folder = folder / "texts"
    list_folder.mkdir()
    texts(list_folder, 7, 1000)
    for name, path in programs.items():
        # What debuggers read is most of them, and goes to both nodes.
        subprocess.run(["strip", "-o", folder / name, path], check=True)
    image = folder / "tasks.tar"
    subprocess.run(
        [ROOT / "tools" / "image", "--tag", IMAGE, "--output", image, f"{list_folder}=/texts"]
        + [f"{folder / name}=/usr/bin/{name}" for name in programs]
        + ["/bin/dash=/bin/sh", "/bin/sleep=/bin/sleep", "/bin/cat=/bin/cat"]
        + ["/bin/tar=/bin/tar", "/bin/mkdir=/bin/mkdir"],
        check=True,
    )
    subprocess.run([CLUSTER, "load", cluster_folder, image], check=True)


class Shell:
    """Commands in a namespace of the cluster that is the test's own."""

    def __init__(self, environment, space, folder):
        self.environment, self.space, self.folder = environment, space, folder

    def run(self, *words, **environment):
        return subprocess.run(
            words,
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def kubectl(self, *words):
        done = self.run("kubectl", f"--namespace={self.space}", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def millrace(self, verb, *words, **environment):
        done = self.run(
            "millrace", verb, "--on", "k8s", "--namespace", self.space, *words, **environment
        )
        return done.returncode, done.stdout + done.stderr

    def start(self, verb, *words):
        return subprocess.Popen(
            ["millrace", verb, "--on", "k8s", "--namespace", self.space, *words],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def left(self):
        """What the cluster has of our jobs."""
        kinds = "jobs,pods,services,configmaps,secrets"
        label = "app.kubernetes.io/managed-by=millrace"
        return self.kubectl("get", kinds, "-l", label, "-o", "name")

    def job(self, script, roles="{files: 1, map: 2}", until="map", **keys):
        lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
        path = self.folder / "words.yaml"
        words = script if isinstance(script, list) else ["sh", "-c", script]
        path.write_text(
            f"name: words\nimage: {IMAGE}\ncommand: {words}\nroles: {roles}\n"
            f"until: {until}\ngrace: 2s\n{lines}"
        )
        return str(path)


@pytest.fixture
def shell(cluster, tmp_path, request):
    space = re.sub("[^a-z0-9]+", "-", request.node.name.lower())[:50].strip("-")
    shell = Shell(cluster, space, tmp_path)
    subprocess.run(["kubectl", "create", "namespace", space], env=cluster, check=True, timeout=30)
    # Nothing that this standard forbids is let in.
    label = "pod-security.kubernetes.io/enforce=restricted"
    subprocess.run(
        ["kubectl", "label", "namespace", space, label], env=cluster, check=True, timeout=30
    )
    yield shell
    subprocess.run(
        ["kubectl", "delete", "namespace", space, "--wait=false"],
        env=cluster,
        check=True,
        timeout=30,
    )

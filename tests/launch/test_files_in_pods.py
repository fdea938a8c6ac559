"""What runs in the pods of a job whose files travel: `millrace join` with a folder of the task's own, and the depot that
keeps them. tests/managers has the same in a real cluster."""

import hashlib
import json
import os
import signal
import subprocess

import pytest

from ports import free_port
from processes import PATIENCE, default_signals

TOKEN = "secret"
PROGRAM = b"cat data > made; exit $1\n"
ENVIRONMENT = {**os.environ, "MILLRACE_JOB_TOKEN": TOKEN}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Baggage:
    """What travels: run.sh and data; and what comes back of role map."""

    def __init__(self, data=b"hello", outputs=("made",)):
        self.contents = [PROGRAM, data]
        files = [
            {"name": name, "kind": "file", "size": len(content), "executable": False}
            | {"sha256": sha256(content)}
            for name, content in zip(("run.sh", "data"), self.contents)
        ]
        comes_back = {"map": list(outputs)} if outputs else {}
        manifest = {"millrace_files": 1, "files": files, "outputs": comes_back}
        self.contents.append(json.dumps(manifest).encode() + b"\n")
        self.digest = sha256(self.contents[-1])

    def stream(self):
        told = b"".join(
            f"blob {len(content)} {sha256(content)}\n".encode() + content
            for content in self.contents
        )
        return told + b"end\n"

    def lay_into(self, folder):
        folder.mkdir()
        for content in self.contents:
            (folder / sha256(content)).write_bytes(content)
        return f"{folder}/{self.digest}"


class Pods:
    def __init__(self, millrace, folder):
        self.millrace, self.folder = millrace, folder
        self.running = []
        (folder / "depot").mkdir()
        (folder / "cluster.json").write_text('{"cluster": {"map": ["127.0.0.1:2222"]}}')

    def start(self, *words):
        process = subprocess.Popen(
            [self.millrace, *words],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=default_signals,
        )
        self.running.append(process)
        return process

    def depot(self, baggage, *flags):
        """Begins to serve; where."""
        port = free_port()
        words = ["--folder", f"{self.folder}/depot", "--list", baggage.digest, "--port", str(port)]
        self.start("depot", "serve", *words, "--collect", "map=1", *flags)
        return f"127.0.0.1:{port}/{baggage.digest}"

    def at_its_door(self, action, told=b""):
        return subprocess.run(
            [self.millrace, "depot", action, "--folder", f"{self.folder}/depot"],
            input=told,
            capture_output=True,
            timeout=PATIENCE,
        )

    def task(self, files, code=0):
        """A task that runs the program there, which ends with that code."""
        own = self.folder / "task"
        own.mkdir()
        words = ["--cluster", f"{self.folder}/cluster.json", "--job", "map", "--index", "0"]
        words += ["--until", "map", "--grace", "1s", "--farewell-port", str(free_port())]
        words += ["--files", files, "--folder", str(own)]
        return self.start("join", *words, "--", "sh", "run.sh", str(code))

    def made(self):
        return (self.folder / "task" / "made").read_text()


@pytest.fixture
def pods(millrace, tmp_path):
    pods = Pods(millrace, tmp_path)
    yield pods
    for process in pods.running:
        process.terminate()
        process.wait(timeout=PATIENCE)
        process.stdout.close()


def ended(task):
    output, _ = task.communicate(timeout=PATIENCE)
    return task.returncode, output


def test_what_lies_in_a_folder_is_placed_before_the_program_begins(pods):
    files = Baggage(outputs=()).lay_into(pods.folder / "mounted")
    assert ended(pods.task(files)) == (0, "")
    assert pods.made() == "hello"


def test_what_is_missing_there_fails_the_task_before_its_program(pods):
    files = Baggage(outputs=()).lay_into(pods.folder / "mounted")
    (pods.folder / "mounted" / sha256(b"hello")).unlink()
    code, output = ended(pods.task(files))
    assert code == 1 and "files: 'data': it is not in '" in output, output
    assert not (pods.folder / "task" / "made").exists()


def test_a_depot_gives_what_was_brought_and_keeps_what_was_made(pods):
    baggage = Baggage(data=b"a line\n" * 200_000)
    files = pods.depot(baggage)
    assert pods.at_its_door("fill", baggage.stream()).stdout == b"ok\n"
    assert ended(pods.task(files)) == (0, "")
    given = pods.at_its_door("give").stdout
    assert given == b"outputs map_0\nfile 1400000 0 made\n" + b"a line\n" * 200_000 + b"done\nend\n"


def test_a_task_that_fails_keeps_its_code_and_brings_what_it_has_made(pods):
    baggage = Baggage()
    files = pods.depot(baggage)
    pods.at_its_door("fill", baggage.stream())
    assert ended(pods.task(files, code=7))[0] == 7
    assert b"file 5 0 made\nhello" in pods.at_its_door("give").stdout


def test_a_task_that_is_there_first_waits_until_all_has_been_brought(pods):
    baggage = Baggage()
    files = pods.depot(baggage)
    task = pods.task(files)
    line = task.stdout.readline()
    assert "waits for the job's depot: the job's files are still being brought there" in line
    # Cut off, and once more.
    cut = pods.at_its_door("fill", baggage.stream()[:-30])
    assert cut.returncode == 1 and b"it breaks off" in cut.stderr
    assert pods.at_its_door("fill", baggage.stream()).returncode == 0
    assert ended(task)[0] == 0


def test_a_task_that_waits_is_told_to_end(pods):
    task = pods.task(pods.depot(Baggage()))
    assert "waits for the job's depot" in task.stdout.readline()
    task.send_signal(signal.SIGTERM)
    assert ended(task)[0] == 143


def test_outputs_that_nobody_takes_any_more_fail_the_task(pods):
    baggage = Baggage()
    files = pods.depot(baggage, "--most", "4")
    pods.at_its_door("fill", baggage.stream())
    code, output = ended(pods.task(files))
    assert code == 1 and "'made': the job's depot at " in output, output
    assert "5 bytes more than the 0 of outputs that are kept already; 4 are the most" in output


@pytest.mark.parametrize("told", [b"hello\n", b"blob 3 x\n", b"", b"end"])
def test_nonsense_at_the_door_is_refused(pods, told):
    done = pods.at_its_door("fill", told)
    assert done.returncode != 0 and done.stdout == b"", done

"""Jobs on a real YARN whose machines share no folder, where neither YARN nor HDFS believes anybody without a
ticket of Kerberos or a token; tools/yarn-cluster, tools/hdfs-cluster and tools/kerberos-realm run them on this
machine."""

import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from kerberos_realm import Tickets, curl, running_realm
from managed import HELPERS_WAIT, count_words, until
from test_jobs_without_shared_folders import HDFS
from yarn_queue import NOT_THERE, KerberosQueue, running_yarn_without_us


@pytest.fixture(scope="module")
def realm():
    with running_realm() as folder:
        yield folder


@contextlib.contextmanager
def running_hdfs(realm):
    """ "127.0.0.1:PORT" where an HDFS answers by HTTP, and where by Hadoop's own protocol."""
    folder = Path(tempfile.mkdtemp(prefix="hdfs-"))
    up = subprocess.run(
        [HDFS, "up", "--realm", realm, folder], capture_output=True, text=True, timeout=960
    )
    try:
        if up.returncode == NOT_THERE:
            pytest.skip(f"LEFT OUT, jobs through an HDFS with Kerberos: {up.stderr}")
        assert up.returncode == 0, up.stderr
        conf = (folder / "conf" / "core-site.xml").read_text()
        web = re.search("WEBHDFS=webhdfs://(.*)", up.stdout)[1]
        yield web, re.search(r"hdfs://(127[^<]*)", conf)[1]
    finally:
        subprocess.run([HDFS, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def hdfs(realm):
    with running_hdfs(realm) as addresses:
        yield addresses


@pytest.fixture(scope="module")
def yarn(realm, hdfs):
    options = ("--realm", realm, "--protection", "privacy")
    with running_yarn_without_us(options=options) as (found, jobs):
        # Who one is, tickets say.
        environment = {name: found[name] for name in found if name != "HADOOP_USER_NAME"}
        yield {**environment, "MILLRACE_HDFS_HTTP_PORT": hdfs[0].split(":")[1]}, jobs


class StagedKerberosQueue(KerberosQueue):
    def __init__(self, environment, folder, tickets, hdfs):
        super().__init__(environment, folder, tickets)
        self.web, self.rpc = hdfs
        self.staging = f"hdfs://{self.rpc}/jobs"

    def job(self, script, roles="{files: 1, map: 2}", until="map", **keys):
        return super().job(script, roles, until, **{"staging": self.staging, **keys})

    def of_hdfs(self, path):
        return json.loads(curl(f"http://{self.web}/{path}", self.tickets))

    def staged(self):
        """What of jobs lies in HDFS."""
        return json.dumps(self.of_hdfs("webhdfs/v1/jobs/.millrace?op=LISTSTATUS")).count(
            "pathSuffix"
        )

    def num_cancelled(self):
        """How many tokens the NameNode has taken back."""
        metrics = "Hadoop:service=NameNode,name=DelegationTokenSecretManagerMetrics"
        return self.of_hdfs(f"jmx?qry={metrics}")["beans"][0]["RemoveTokenNumOps"]


@pytest.fixture
def queue(yarn, realm, hdfs, request, tmp_path):
    environment, jobs = yarn
    folder = jobs / re.sub("[^a-z0-9]+", "-", request.node.name.lower())[-60:]
    folder.mkdir()
    queue = StagedKerberosQueue(environment, folder, Tickets(realm, tmp_path / "tickets"), hdfs)
    yield queue
    queue.tickets.get()
    queue.end_all()
    for name in queue.names():
        assert queue.millrace("stop", name)[0] == 0
    assert queue.staged() == 0


def parts_of_token(path):
    """The first token of a file of Hadoop's: what it is called, its four parts, and these as WebHDFS takes them."""
    rest = path.read_bytes().removeprefix(b"HDTS\0")[1:]
    alias_end = 1 + rest[0]
    parts, at = [], alias_end
    for _ in range(4):
        size = rest[at]
        assert size < 128
        parts.append(rest[at + 1 : at + 1 + size])
        at += 1 + size
    text = base64.urlsafe_b64encode(rest[alias_end:at]).decode().rstrip("=")
    return parts, text


def test_word_count_is_exact_on_machines_that_have_nothing_of_it(queue):
    texts = [f"text_{i}" for i in range(7)]
    for text in texts:
        (queue.folder / text).write_text("word " * 1000)
    (queue.folder / "list").write_text("\n".join(texts) + "\n")
    real = queue.job
    queue.job = lambda script, roles: real(script, roles, files=["word_count", "list", *texts])
    count_words(queue, "list")
    assert queue.ended_application()["finalStatus"] == "SUCCEEDED"


def test_the_job_has_a_token_that_ends_with_it_and_is_told_nowhere(queue, tmp_path):
    cancelled = queue.num_cancelled()
    seen = tmp_path / "seen"
    script = f"cat note.txt; cp $HADOOP_TOKEN_FILE_LOCATION {seen}_{{task_index}}; env"
    job = queue.job(script, "{map: 2}", files=["note.txt"])
    (queue.folder / "note.txt").write_text("a note\n")
    code, output = queue.millrace("run", job)
    assert code == 0 and output.count("| a note\n") == 2, output
    (_, password, kind, service), token = parts_of_token(Path(f"{seen}_1"))
    assert (service.decode(), kind) == (queue.rpc, b"HDFS_DELEGATION_TOKEN")
    until(lambda: queue.num_cancelled() == cancelled + 1, "YARN takes the token back")
    url = f"http://{queue.web}/webhdfs/v1/jobs?op=LISTSTATUS&delegation={token}"
    done = subprocess.run(["curl", "--silent", url], capture_output=True, text=True, timeout=60)
    assert "InvalidToken" in done.stdout, done.stdout
    # Whoever reads what there is of the job comes to nothing by it.
    secrets = (token, base64.b64encode(password).decode(), password.hex())
    told = [output, queue.millrace("explain", job)[1], queue.millrace("logs", "words")[1]]
    told += [
        path.read_bytes().decode(errors="replace")
        for path in (queue.folder / "kept").rglob("*")
        if path.is_file()
    ]
    told.append(json.dumps(queue.manager(f"apps/{queue.application()}")))
    assert len(told) > 7
    assert not [text for text in told for secret in secrets if secret in text]


def test_a_submitted_job_is_scaled_and_heard_and_its_logs_are_had_after_its_end(queue):
    script = HELPERS_WAIT + "echo up; [ {task_index} = 1 ] || sleep 600"
    roles = "{files: 1, map: {count: 1, min: 1, max: 2}}"
    assert queue.millrace("submit", queue.job(script, roles))[0] == 0
    queue.wait_for_tasks(2)
    assert queue.millrace("scale", "words", "map=2")[0] == 0
    queue.wait_until(
        lambda: "map:1    | up" in queue.millrace("logs", "words")[1], "the second begins"
    )
    # Its own token serves the job, whose submitter has no ticket any more.
    queue.tickets.lose()
    code, output = queue.millrace("status", "words")
    assert code == 1 and "the login does not hold" in output, output
    queue.tickets.get()
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert "up" in (queue.folder / "saved" / "map_1.log").read_text()
    assert queue.left() == ([], []) and queue.staged() == 0


def test_a_submission_that_fails_leaves_no_token_and_no_folder(queue):
    cancelled = queue.num_cancelled()
    code, output = queue.millrace("submit", queue.job("true", queue="nowhere"))
    assert code != 0 and "queue: " in output, output
    until(lambda: queue.num_cancelled() == cancelled + 1, "the token is taken back")
    code, output = queue.millrace("submit", queue.job("true", files=["no_such_file"]))
    assert code == 1 and "there is no 'no_such_file'" in output, output
    # Of HDFS by its other name YARN can't renew the tokens.
    code, output = queue.millrace(
        "submit", queue.job("true", staging=f"webhdfs://{queue.web}/jobs")
    )
    assert code == 1 and "can't log in to the job's HDFS" in output, output
    until(lambda: queue.num_cancelled() == cancelled + 3, "the tokens are taken back")
    assert queue.left() == ([], []) and queue.staged() == 0

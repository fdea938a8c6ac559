"""Jobs on a real YARN whose machines see neither the job's folder nor our programs: all goes through a real
HDFS. tools/yarn-cluster and tools/hdfs-cluster run both on this machine; the folders are hidden from the
NodeManagers and what they start, for which tests have to be root."""

import re
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from managed import (
    HELPERS_WAIT,
    PATIENCE,
    count_words,
    fail_with_last_words,
    own_lines,
    run_job_that_makes_files,
)
from yarn_queue import GETTING_IT, NOT_THERE, ROOT, Queue, running_yarn_without_us

HDFS = ROOT / "tools" / "hdfs-cluster"


@pytest.fixture(scope="module")
def hdfs():
    """ "127.0.0.1:PORT" where an HDFS answers by HTTP, and where by Hadoop's own protocol."""
    built = subprocess.run([HDFS, "build"], capture_output=True, text=True, timeout=GETTING_IT)
    if built.returncode == NOT_THERE:
        pytest.skip(f"LEFT OUT, jobs through a real HDFS: {built.stderr}")
    folder = Path(tempfile.mkdtemp(prefix="hdfs-"))
    up = subprocess.run([HDFS, "up", folder], capture_output=True, text=True, timeout=400)
    try:
        if up.returncode == NOT_THERE:
            pytest.skip(f"LEFT OUT, jobs through a real HDFS: {up.stderr}")
        assert up.returncode == 0, up.stderr
        conf = (folder / "conf" / "core-site.xml").read_text()
        web = re.search("WEBHDFS=webhdfs://(.*)", up.stdout)[1]
        yield web, re.search(r"hdfs://(127[^<]*)", conf)[1]
    finally:
        subprocess.run([HDFS, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def yarn(hdfs):
    with running_yarn_without_us() as (found, jobs):
        yield {**found, "MILLRACE_HDFS_HTTP_PORT": hdfs[0].split(":")[1]}, jobs


class StagedQueue(Queue):
    def __init__(self, environment, folder, hdfs):
        super().__init__("yarn", environment, folder)
        self.web, self.rpc = hdfs
        self.staging = f"hdfs://{self.rpc}/jobs"

    def job(self, script, roles="{files: 1, map: 2}", until="map", **keys):
        return super().job(script, roles, until, **{"staging": self.staging, **keys})

    def staged(self):
        """What of jobs lies in HDFS."""
        url = f"http://{self.web}/webhdfs/v1/jobs/.millrace?op=LISTSTATUS&user.name=root"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return answer.read().decode().count("pathSuffix")
        except urllib.error.HTTPError as fault:
            assert fault.code == 404, fault
            return 0


@pytest.fixture
def queue(yarn, hdfs, request):
    environment, jobs = yarn
    folder = jobs / re.sub("[^a-z0-9]+", "-", request.node.name.lower())[:60]
    folder.mkdir()
    queue = StagedQueue(environment, folder, hdfs)
    yield queue
    queue.end_all()
    for name in queue.names():
        assert queue.millrace("stop", name)[0] == 0
    assert queue.staged() == 0


def test_word_count_is_exact_on_machines_that_have_nothing_of_it(queue):
    texts = [f"text_{i}" for i in range(7)]
    for text in texts:
        (queue.folder / text).write_text("word " * 1000)
    (queue.folder / "list").write_text("\n".join(texts) + "\n")
    files = ["word_count", "list", *texts]
    real = queue.job
    queue.job = lambda script, roles: real(script, roles, files=files)
    count_words(queue, "list")
    assert queue.ended_application()["finalStatus"] == "SUCCEEDED"


def test_a_task_works_in_a_folder_with_its_files_and_archives_and_our_programs(queue):
    (queue.folder / "env" / "bin").mkdir(parents=True)
    tool = queue.folder / "env" / "bin" / "tool"
    tool.write_text("#!/bin/sh\necho the tool says $1\n")
    tool.chmod(0o755)
    with tarfile.open(queue.folder / "env.tar.gz", "w:gz") as archive:
        archive.add(queue.folder / "env", arcname=".")
    (queue.folder / "note.txt").write_text("a note\n")
    script = (
        'env/bin/tool hello; cat note.txt; command -v millrace; echo "in $PWD"; '
        f"ls {queue.folder}; echo done >&2"
    )
    job = queue.job(script, "{map: 2}", files=["env.tar.gz", "note.txt"])
    code, output = queue.millrace("run", job)
    assert code == 0, output
    for line in ("the tool says hello", "a note", "done"):
        assert output.count(f"| {line}\n") == 2, output
    assert re.search(r"\| /\S+/container_\w+/programs/millrace$", output, re.MULTILINE), output
    assert re.search(r"\| in /\S+/container_\w+$", output, re.MULTILINE), output
    assert "No such file or directory" in output, output


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)
    app = queue.ended_application()
    assert app["finalStatus"] == "FAILED" and "map:1: exit code 3" in app["diagnostics"]


def test_a_submitted_job_goes_on_alone_and_its_logs_are_had_while_it_runs_and_after_its_end(queue):
    # Its tasks end when they are told to: nobody shares a folder in which to say so.
    script = HELPERS_WAIT + (
        "echo up {task_index}; [ {task_index} = 1 ] && { seq 200000; exit 0; }; sleep 3; echo late"
    )
    assert queue.millrace("submit", queue.job(script))[0] == 0
    queue.wait_until(
        lambda: "| up 0\n" in queue.millrace("logs", "words", "map:0")[1], "map:0 writes"
    )
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "job succeeded" in output, output
    queue.ended_application()
    code, output = queue.millrace("logs", "words")
    lines = [line.split("| ")[1] for line in output.splitlines() if line.startswith("map:1 ")]
    # What it says to standard error comes somewhere among them.
    numbers = [line for line in lines if line.isdigit()]
    assert code == 0 and numbers == [str(i + 1) for i in range(200000)], output[-500:]
    assert "| late\n" in output
    assert "stopped: job finished" in queue.millrace("status", "words")[1]


def test_a_job_that_is_run_is_followed_line_by_line(queue):
    running = queue.start("run", queue.job("echo up; sleep 4; echo done", "{map: 1}"))
    heard = []
    for line in running.stdout:
        heard.append(line)
        if line.endswith("| up\n"):
            assert "tasks run" in queue.millrace("status", "words")[1]
            break
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0 and "| done\n" in output, "".join(heard) + output


def test_stop_saves_what_there_is_and_leaves_nothing(queue):
    queue.millrace("submit", queue.job("trap 'exit 0' TERM; echo up; sleep 600 & wait"))
    queue.wait_for_tasks()
    queue.wait_until(lambda: "| up\n" in queue.millrace("logs", "words", "map:1")[1], "it writes")
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]
    assert queue.left() == ([], [])
    assert queue.staged() == 0


def test_a_task_that_fails_comes_back_and_both_attempts_are_heard(queue):
    roles = "{map: {count: 2, restart: {budget: 5 in 5m, pause: 100ms}}}"
    script = (
        'echo "attempt $MILLRACE_ATTEMPT on $NM_HOST at $MILLRACE_LISTEN_ADDRESS"; '
        '[ {task_index} = 1 ] && [ "$MILLRACE_ATTEMPT" = 1 ] && kill -9 $$; exit 0'
    )
    code, output = queue.millrace("run", queue.job(script, roles))
    assert code == 0 and "with 1 restart" in output, output
    told = re.findall(r"map:1 +\| attempt (\d) on (\S+ at \S+)", output)
    assert [attempt for attempt, _ in told] == ["1", "2"] and told[0][1] == told[1][1], output


def test_a_job_is_scaled_while_it_runs(queue):
    roles = "{files: 1, map: {count: 1, min: 1, max: 2}}"
    job = queue.job("echo up {job_name} {task_index}; exec sleep 600", roles)
    assert queue.millrace("submit", job)[0] == 0
    queue.wait_for_tasks(2)
    assert queue.millrace("scale", "words", "map=2") == (0, "map: 1 -> 2 tasks\n")
    queue.wait_for_tasks(3)
    queue.wait_until(
        lambda: "| up map 1\n" in queue.millrace("logs", "words", "map:1")[1], "map:1 has begun"
    )


def test_what_is_missing_is_told_and_nothing_is_left(queue):
    code, output = queue.millrace("submit", queue.job("true", files=["no_such_file"]))
    assert code == 1 and f"there is no 'no_such_file' in {queue.folder}" in output, output
    (queue.folder / "models").mkdir()
    code, output = queue.millrace("submit", queue.job("true", files=["models"]))
    assert code == 2 and "'models' is a folder, which goes along as an archive" in output, output
    job = queue.job("true", staging="webhdfs://127.0.0.1:9/jobs")
    code, output = queue.millrace("submit", job)
    assert code == 1 and "staging: webhdfs://127.0.0.1:9/jobs" in output, output
    assert queue.left() == ([], []) and queue.staged() == 0


def test_what_tasks_make_comes_back_however_they_end(queue):
    run_job_that_makes_files(queue)
    assert queue.ended_application()["finalStatus"] == "SUCCEEDED"


def test_what_tasks_have_made_is_brought_by_wait_and_by_stop(queue):
    job = queue.job("echo {task_index} > made", "{map: 2}", outputs="made")
    back = queue.folder / "outputs"
    assert queue.millrace("submit", job)[0] == 0
    code, output = queue.millrace("wait", "words")
    assert code == 0 and f"outputs of 2 tasks are in {back}" in output, output
    assert (back / "map_1" / "made").read_text() == "1\n"
    # Once: what is done with them since is not undone.
    shutil.rmtree(back)
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "outputs of" not in output and not back.exists(), output
    assert queue.millrace("stop", "words")[0] == 0
    script = "trap 'echo ended > made; exit 0' TERM; echo up; sleep 600 & wait"
    queue.millrace("submit", queue.job(script, "{map: 2}", outputs="made"))
    queue.wait_for_tasks(2)
    queue.wait_until(lambda: "| up\n" in queue.millrace("logs", "words", "map:1")[1], "it writes")
    code, output = queue.millrace("stop", "words")
    assert code == 0, output
    assert (back / "map_1" / "made").read_text() == "ended\n"


def test_outputs_of_a_launcher_that_was_killed_are_said_to_be_lost(queue):
    queue.millrace("submit", queue.job("sleep 600", "{map: 1}", outputs="made"))
    queue.wait_for_tasks(1)
    app = queue.application()
    queue.manager(f"apps/{app}/state?user.name=root", "PUT", {"state": "KILLED"})
    code, output = queue.millrace("wait", "words")
    assert code == 130 and "outputs: its launcher has left none" in output, output
    assert not (queue.folder / "outputs").exists()


def test_webhdfs_serves_the_machines_too(queue):
    job = queue.job("cat note.txt", files=["note.txt"], staging=f"webhdfs://{queue.web}/jobs")
    (queue.folder / "note.txt").write_text("a note\n")
    code, output = queue.millrace("run", job)
    assert code == 0 and output.count("| a note\n") == 3, output

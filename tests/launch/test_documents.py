"""The examples of the documents, run as they stand there. A block that is run by its name has a comment before it,
<!-- tests: NAME -->; blocks of YAML are job files, or parts of them, and all of them are read."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from ports import free_port
from processes import PATIENCE, default_signals

ROOT = Path(__file__).parents[2]
FOREIGN = ROOT / "millrace" / "launch" / "foreign" / "testdata"
PAGES = ["job_file", "counting_once", "slurm", "yarn", "kubernetes"]


def blocks(page, language):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block(page, name):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    mark = rf"^<!-- tests: {re.escape(name)} -->\n```\w+\n(.*?)^```$"
    found = re.findall(mark, text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"docs/{page}.md has {len(found)} blocks that are called {name}"
    return found[0]


def job_files():
    return [
        pytest.param(text, id=f"{page}-{number}")
        for page in PAGES
        for number, text in enumerate(blocks(page, "yaml"), 1)
    ]


def whole(text):
    """A job file of which a page shows a part: with what the part is about left as it is."""
    if not re.search(r"^roles:", text, re.MULTILINE):
        text += "roles: {map: 1}\n"
    if not re.search(r"^command:", text, re.MULTILINE):
        text += "command: 'true'\n"
    return text


@pytest.fixture
def shell(tmp_path):
    """shell(script): bash -e with it, in an empty folder, to its end; what it wrote."""

    def shell(script, **options):
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=options.pop("timeout", PATIENCE),
            preexec_fn=default_signals,
            **options,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return shell


@pytest.mark.parametrize("text", job_files())
def test_job_files_of_the_documents_are_job_files(millrace, tmp_path, text):
    (tmp_path / "job.yaml").write_text(whole(text))
    done = subprocess.run(
        [millrace, "explain", "job.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


def test_jobs_of_other_programs_are_imported_as_the_page_says(shell, tmp_path):
    for file in FOREIGN.iterdir():
        if not file.name.startswith("imported_") and not re.match(r"(digits|words)\.", file.name):
            shutil.copy(file, tmp_path)
    for line in block("job_file", "import").splitlines():
        shell(line)
        job = (tmp_path / "job.yaml").read_text()
        assert "roles:" in job, line
        # Others may have the ports of the files; and a Secret of the cluster is had there alone.
        (tmp_path / "job.yaml").write_text(re.sub(r"^first_port: .*\n", "", job, flags=re.M))
        of_cluster = re.search(r"kubernetes: \S+/\S+", job)
        shell("millrace explain job.yaml --cwd ." + (" --on k8s" if of_cluster else ""))


def test_words_are_counted_once_as_the_page_says(shell, tmp_path):
    script = block("counting_once", "run")
    # One file rather than all, to the end, and nobody is killed: tests/cluster does that.
    assert "kill -9 PID" in script
    script = re.sub(r"^kill .*$", "", script, flags=re.MULTILINE)
    script = script.replace("licenses/*", "licenses/GPL-2").replace(" &  ", "   ")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    output = shell(script, timeout=4 * PATIENCE)
    number = len(Path("/usr/share/common-licenses/GPL-2").read_text().split())
    assert f"{number} words in " in output, output


def test_calls_are_sent_to_a_worker_as_the_page_says(tmp_path):
    port = f"localhost:{free_port()}"
    (tmp_path / "work.py").write_text(block("task_queue", "module").replace("localhost:2222", port))
    broker, worker, call, listing = block("task_queue", "run").splitlines()
    started = []
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}

    def begin(line):
        process = subprocess.Popen(
            ["bash", "-c", "exec " + line.replace("localhost:2222", port)],
            cwd=tmp_path,
            env=environment,
            preexec_fn=default_signals,
        )
        started.append(process)

    def ends(line):
        return subprocess.run(
            ["bash", "-c", line.replace("localhost:2222", port)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            preexec_fn=default_signals,
        )

    try:
        begin(broker)
        begin(worker)
        done = ends(call)
        assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
        assert ends(listing).returncode == 0
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            try:
                process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

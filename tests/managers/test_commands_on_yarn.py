"""Commands beside tasks of a job on YARN, on a real one of three machines, which tools/yarn-cluster runs on this
machine."""

import re
import subprocess
from pathlib import Path

import pytest

from managed import HELPERS_WAIT, PATIENCE
from yarn_queue import Queue, running_yarn


@pytest.fixture(scope="module")
def yarn():
    with running_yarn() as environment:
        yield environment


@pytest.fixture
def queue(yarn, tmp_path):
    queue = Queue("yarn", yarn, tmp_path)
    yield queue
    queue.end_all()


def begin_beside(queue, script="COLOUR=blue; export COLOUR; exec sleep 600", **keys):
    """Submits a job of which map:1 can be looked at, and returns what runs a command there."""
    assert queue.millrace("submit", queue.job(script, **keys))[0] == 0
    queue.wait_for_tasks()

    def beside(*command, task="map:1", **how):
        return subprocess.run(
            ["millrace", "exec", "words", task, "--on", "yarn", "--", *command],
            env=queue.environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **how,
        )

    return beside


def test_a_command_runs_beside_a_task_with_its_environment_and_directory(queue):
    beside = begin_beside(queue)
    script = 'echo "$COLOUR in $(pwd) as $TF_CONFIG of $CONTAINER_ID"; echo bad >&2; exit 7'
    done = beside("sh", "-c", script)
    assert (done.returncode, done.stderr) == (7, "bad\n"), done
    assert done.stdout.startswith(f"blue in {queue.folder} as {{"), done
    assert '"index":1' in done.stdout.replace(" ", "") and "of container_" in done.stdout
    # What it reads comes from here; what it writes is none of the task's.
    much = "".join(f"{i}\n" for i in range(200000))
    done = beside("cat", input=much)
    assert (done.returncode, done.stdout == much, done.stderr) == (0, True, "")
    assert "bad" not in queue.millrace("logs", "words")[1]
    assert beside("sh", "-c", "kill -9 $$").returncode == 137
    # YARN has not been asked for anything.
    assert queue.num_containers() == 4


def test_a_command_that_can_not_be_run_is_refused_in_clear_words(queue):
    beside = begin_beside(queue, HELPERS_WAIT + "until [ -e go_{task_index} ]; do sleep 0.1; done")
    done = beside("no-such-program")
    words = "'no-such-program' can't be run: No such file or directory"
    assert (done.returncode, words in done.stderr) == (126, True), done
    done = beside("true", task="map:7")
    assert (done.returncode, "map:7" in done.stderr) == (1, True), done
    (queue.folder / "go_1").touch()
    queue.wait_until(
        lambda: re.search(r"map:1 .*completed", queue.millrace("status", "words")[1]), "map:1 ends"
    )
    done = beside("true")
    assert (done.returncode, "map:1" in done.stderr) == (1, True), done
    assert re.search(r"completed|has ended", done.stderr), done
    (queue.folder / "go_0").touch()
    assert queue.millrace("wait", "words")[0] == 0
    done = beside("true", task="map:0")
    assert (done.returncode, "has ended" in done.stderr) == (1, True), done


def test_what_runs_beside_a_task_ends_with_it_and_with_who_has_asked_for_it(queue):
    beside = begin_beside(queue, "exec sleep 600")
    stay = "trap '' TERM; echo $$ > {0}; sh -c 'echo $$ >> {0}; exec sleep 600' & wait; sleep 600"
    path = queue.folder / "pids"

    def start_one():
        path.unlink(missing_ok=True)
        words = ["millrace", "exec", "words", "map:1", "--on", "yarn", "--"]
        started = subprocess.Popen(
            [*words, "sh", "-c", stay.format(path)],
            env=queue.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        both = queue.wait_until(
            lambda: path.exists() and len(pids := path.read_text().split()) == 2 and pids,
            "both processes run",
        )
        return started, both

    def are_gone(pids):
        return not any(Path(f"/proc/{pid}").exists() for pid in pids)

    started, pids = start_one()
    started.kill()
    started.communicate()
    queue.wait_until(lambda: are_gone(pids), "they end with who has asked for them")
    assert beside("true").returncode == 0
    started, pids = start_one()
    assert queue.millrace("stop", "words")[0] == 0
    _, said = started.communicate(timeout=PATIENCE)
    assert (started.returncode, "map:1 has ended" in said) == (1, True), said
    queue.wait_until(lambda: are_gone(pids), "they end with the task")

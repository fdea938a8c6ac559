"""Jobs on a real YARN whose machines see neither the job's folder nor our programs, and where there is no HDFS:
who submits gives all of it to the launcher, and the launcher to the others."""

import os
import re
import signal
import subprocess
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
from yarn_queue import Queue, running_yarn_without_us


@pytest.fixture(scope="module")
def yarn():
    with running_yarn_without_us() as found:
        yield found


class ServedQueue(Queue):
    def job(self, script, roles="{files: 1, map: 2}", until="map", **keys):
        return super().job(script, roles, until, **{"staging": "submitter", **keys})

    def company(self):
        """Processes that stay here for a job, or serve its files."""
        words = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True).stdout
        mark = re.compile(
            r"^ *(\d+) (?:/proc/self/exe wait \w+|millrace (?:submit|run) --on yarn )"
        )
        return [int(found[1]) for line in words.splitlines() if (found := mark.search(line))]


@pytest.fixture
def queue(yarn, request):
    environment, jobs = yarn
    folder = jobs / re.sub("[^a-z0-9]+", "-", request.node.name.lower())[:60]
    folder.mkdir()
    queue = ServedQueue("yarn", environment, folder)
    yield queue
    queue.end_all()
    for name in queue.names():
        assert queue.millrace("stop", name)[0] == 0
    queue.wait_until(lambda: not queue.company(), "nobody is left here")


def test_word_count_is_exact_on_machines_that_have_nothing_of_it(queue):
    texts = [f"text_{i}" for i in range(7)]
    for text in texts:
        (queue.folder / text).write_text("word " * 1000)
    (queue.folder / "list").write_text("\n".join(texts) + "\n")
    real = queue.job
    queue.job = lambda script, roles: real(script, roles, files=["word_count", "list", *texts])
    count_words(queue, "list")
    assert queue.ended_application()["finalStatus"] == "SUCCEEDED"
    # Only what is looked at afterwards is left, and no secret.
    kept = queue.folder / "kept" / "yarn" / "words"
    assert not (kept / "sent").exists()


def test_what_tasks_make_comes_back_however_they_end(queue):
    run_job_that_makes_files(queue)
    assert queue.ended_application()["finalStatus"] == "SUCCEEDED"


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)
    app = queue.ended_application()
    assert app["finalStatus"] == "FAILED" and "map:1: exit code 3" in app["diagnostics"]


def test_a_worker_that_is_killed_comes_back(queue):
    roles = "{map: {count: 2, restart: {budget: 5 in 5m, pause: 100ms}}}"
    script = (
        'echo "attempt $MILLRACE_ATTEMPT"; '
        '[ {task_index} = 1 ] && [ "$MILLRACE_ATTEMPT" = 1 ] && kill -9 $$; exit 0'
    )
    code, output = queue.millrace("run", queue.job(script, roles))
    assert code == 0 and "with 1 restart" in output, output
    assert re.findall(r"map:1 +\| attempt (\d)", output) == ["1", "2"], output


def test_a_submitted_job_goes_on_alone_and_who_stays_has_its_logs_and_outputs(queue):
    script = HELPERS_WAIT + "echo up {task_index}; seq 200000; echo {task_index} > made; sleep 3"
    running = queue.start("submit", queue.job(script, outputs="made"))
    # The process that stays holds nothing of what submit wrote to.
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0 and "stays here to have the logs and the outputs" in output
    assert "/words" not in output and "http:" not in output, output
    queue.wait_until(
        lambda: "| up 0\n" in queue.millrace("logs", "words", "map:0")[1], "map:0 writes"
    )
    queue.ended_application()
    queue.wait_until(lambda: not queue.company(), "who stayed has ended")
    # Nobody has looked but that one.
    assert (queue.folder / "outputs" / "map_1" / "made").read_text() == "1\n"
    code, output = queue.millrace("logs", "words")
    lines = [line.split("| ")[1] for line in output.splitlines() if line.startswith("map:1 ")]
    # What it says to standard error comes somewhere among them.
    numbers = [line for line in lines if line.isdigit()]
    assert code == 0 and numbers == [str(i + 1) for i in range(200000)], output[-500:]
    assert "succeeded in" in queue.millrace("status", "words")[1]


def end_company(queue, output):
    company = queue.company()
    assert company, output
    for pid in company:
        os.kill(pid, signal.SIGKILL)


def test_logs_that_nobody_has_had_in_time_are_had_of_yarn(queue):
    code, output = queue.millrace("submit", queue.job("seq 100000; sleep 2", "{map: 1}"))
    assert code == 0, output
    end_company(queue, output)
    app = queue.ended_application()
    assert app["finalStatus"] == "SUCCEEDED", app
    # Of its launcher's NodeManager, which keeps them for a while.
    code, output = queue.millrace("status", "words")
    assert code == 0 and "succeeded in" in output and "yarn logs" not in output, output
    code, output = queue.millrace("logs", "words")
    lines = [line.split("| ")[1] for line in output.splitlines() if line.startswith("map:0 ")]
    numbers = [line for line in lines if line.isdigit()]
    assert code == 0 and numbers == [str(i + 1) for i in range(100000)], output[-500:]


def test_of_a_launcher_that_is_killed_all_is_had_that_it_has_seen(queue):
    submitted = queue.start("submit", queue.job("echo up {task_index}; exec sleep 600"))
    output, _ = submitted.communicate(timeout=PATIENCE)
    queue.wait_for_tasks()
    end_company(queue, output)
    # Nobody has looked at a log so far.
    queue.wait_until(
        lambda: all(
            f"up {i}" in "".join(p.read_text() for p in logs_of_machines(queue, f"map_{i}.log"))
            for i in (0, 1)
        ),
        "the launcher has heard its tasks",
    )
    queue.kill_launcher()
    queue.wait_until(
        lambda: queue.manager(f"apps/{queue.application()}")["app"]["state"] == "FAILED",
        "YARN sees it",
    )
    code, output = queue.millrace("logs", "words")
    assert code == 0 and "| up 0\n" in output and "| up 1\n" in output, output
    code, output = queue.millrace("status", "words")
    assert "its launcher has ended" in output, output
    kept = queue.folder / "kept" / "yarn" / "words"
    assert "all 3 tasks are there" in (kept / "launcher.log").read_text()


def logs_of_machines(queue, name):
    """What the machines have of a log."""
    run = Path(queue.environment["HADOOP_CONF_DIR"]).parent
    return run.glob(f"127.0.0.*/logs/{queue.application()}/*/{name}")


def test_a_command_runs_beside_a_task_in_its_container(queue):
    (queue.folder / "note.txt").write_text("a note\n")
    job = queue.job("COLOUR=blue exec sleep 600", files=["note.txt"], outputs="made")
    queue.start("submit", job).communicate(timeout=PATIENCE)
    queue.wait_for_tasks()
    script = "cat note.txt; echo $COLOUR in $(pwd); echo made > made; exit 7"
    done = queue.run("millrace", "exec", "words", "map:1", "--on", "yarn", "--", "sh", "-c", script)
    assert done.returncode == 7, done
    assert re.fullmatch(r"a note\nblue in /\S+/container_\w+\n", done.stdout), done
    assert queue.millrace("stop", "words")[0] == 0
    # What it has made there is the task's.
    assert (queue.folder / "outputs" / "map_1" / "made").read_text() == "made\n"


def test_a_submitter_that_is_killed_before_the_launcher_has_come_leaves_nothing(queue):
    big = "{map: {count: 1, memory: 256Mi}}"
    # Its queue has memory for one launcher: the second waits for its own.
    queue.millrace("submit", queue.job("exec sleep 600", big, queue="small"), "--name", "big")
    running = queue.start("submit", queue.job("true", big, queue="small"))
    heard = running.stdout.readline()
    assert "its files are given out here until its launcher has them" in heard, heard
    running.kill()
    running.communicate(timeout=PATIENCE)
    assert queue.millrace("stop", "big")[0] == 0
    app = queue.wait_until(
        lambda: (app := queue.manager(f"apps/{queue.application()}")["app"])["state"] == "FAILED"
        and app,
        "its launcher can't have them",
    )
    code, output = queue.millrace("status", "words")
    assert "its launcher's machine could not have the job's files" in output, (output, app)
    assert "http:" not in output, output
    assert queue.millrace("stop", "words")[0] == 0
    assert queue.left() == ([], [])


def test_a_submission_that_is_interrupted_is_taken_back(queue):
    big = "{map: {count: 1, memory: 256Mi}}"
    queue.millrace("submit", queue.job("exec sleep 600", big, queue="small"), "--name", "big")
    running = queue.start("submit", queue.job("true", big, queue="small"))
    assert "its files are given out here" in running.stdout.readline()
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1 and "it is taken back" in output, output
    assert queue.left() == (["big"], ["big"])


def test_a_machine_that_does_not_reach_this_one_is_told_and_nothing_is_left(queue):
    queue.environment = {**queue.environment, "MILLRACE_HOST": "no-such-host.invalid"}
    code, output = queue.millrace("submit", queue.job("true"))
    assert code == 1 and "its launcher's machine could not have the job's files" in output, output
    assert "http:" not in output and queue.left() == ([], []), output


def test_stop_saves_what_there_is_and_leaves_nothing(queue):
    script = "trap 'echo ended > made; exit 0' TERM; echo up; sleep 600 & wait"
    queue.millrace("submit", queue.job(script, outputs="made"))
    queue.wait_for_tasks()
    queue.wait_until(lambda: "| up\n" in queue.millrace("logs", "words", "map:1")[1], "it writes")
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]
    assert (queue.folder / "outputs" / "map_1" / "made").read_text() == "ended\n"
    assert queue.left() == ([], [])

"""Jobs that are left to this machine: submitted, asked about and stopped by commands of their own."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kept_jobs import HELPERS_WAIT, WRITES_PID
from processes import PATIENCE, default_signals, read_until


def test_a_submitted_job_goes_on_alone_and_can_be_asked_about(here):
    job = here.job(HELPERS_WAIT + "echo counted; until [ -e go ]; do sleep 0.05; done")
    assert here.millrace("submit", job) == (0, "words\n")
    here.wait_until(lambda: "3 of 3 tasks run" in here.millrace("status", "words")[1], "it runs")
    assert re.search(r"words +running", here.millrace("list")[1])
    code, output = here.millrace("submit", job)
    assert code == 1 and "there is a job 'words' already" in output, output
    (here.folder / "go").touch()
    code, output = here.millrace("wait", "words", "--timeout", "15s")
    assert code == 0 and "job succeeded" in output, output
    assert re.search(r"files:0 +stopped: job finished", output), output
    status = here.millrace("status", "words")[1]
    assert "words: succeeded" in status and "stopped: job finished" in status, status
    assert "succeeded" in here.millrace("list")[1]
    assert here.millrace("logs", "words", "map:1") == (0, "map:1    | counted\n")


def test_a_task_that_fails_is_told_as_by_run(here):
    script = HELPERS_WAIT + (
        "[ {task_index} = 1 ] && { echo ValueError: bad record >&2; exit 3; }; exec sleep 600"
    )
    job = here.job(script)
    here.millrace("submit", job)
    code, waited = here.millrace("wait", "words")
    run = subprocess.run(
        [here.command, "run", job],
        cwd=here.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert code == run.returncode == 1, waited
    without_times = lambda text: re.sub(r"\d+\.\d s|\d+ MB", "*", text)  # noqa: E731
    told = [line for line in without_times(waited).splitlines() if " | " not in line]
    shown = [line for line in without_times(run.stdout).splitlines() if " | " not in line]
    assert told == shown


def test_stop_ends_the_tasks_and_leaves_nothing(here):
    here.millrace("submit", here.job(WRITES_PID + "echo up; exec sleep 600"))
    here.wait_until(lambda: len(here.pids()) == 3, "all tasks run")
    code, output = here.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert here.kept() == [] and here.pids() == []
    assert (here.folder / "saved" / "map_1.log").read_text() == "up\n"
    code, output = here.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_a_closed_terminal_takes_no_job_along(here):
    leader, terminal = pty.openpty()
    shell = subprocess.Popen(
        [
            "sh",
            "-c",
            f"{here.command} submit --on local {here.job(WRITES_PID + 'exec sleep 600')}; exec sleep 600",
        ],
        env=here.environment,
        cwd=here.folder,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    here.wait_until(lambda: len(here.pids()) == 3, "all tasks run")
    os.close(leader)
    shell.kill()
    shell.wait()
    assert "3 of 3 tasks run" in here.millrace("status", "words")[1]
    assert len(here.pids()) == 3


def test_who_follows_may_be_killed_and_another_one_takes_up(here):
    job = here.job(HELPERS_WAIT + "echo up; until [ -e go ]; do sleep 0.05; done; echo counted")
    here.millrace("submit", job)
    first = here.start("logs", "words", "--follow")
    read_until(first.stdout, "| up")
    first.kill()
    first.wait()
    first.stdout.close()
    second = here.start("logs", "words", "--follow")
    read_until(second.stdout, "| up")
    (here.folder / "go").touch()
    output, _ = second.communicate(timeout=PATIENCE)
    assert output.count("| counted") == 2 and "words: succeeded" in output, output


def test_a_killed_launcher_takes_its_tasks_along_and_the_job_has_failed(here):
    here.millrace("submit", here.job(WRITES_PID + "exec sleep 600"))
    here.wait_until(lambda: len(here.pids()) == 3, "all tasks run")
    os.kill(here.launcher(), signal.SIGKILL)
    code, output = here.millrace("wait", "words")
    assert code == 1 and "its launcher was killed" in output.splitlines()[-1], output
    here.wait_until(lambda: not here.pids(), "the tasks are gone")
    assert here.millrace("stop", "words")[0] == 0
    assert here.kept() == []


def test_a_job_that_can_not_begin_is_told_and_leaves_nothing(here):
    code, output = here.millrace("submit", here.job("true", directory="/no/such/place"))
    assert code == 1 and "no such directory" in output, output
    assert here.kept() == []


def test_a_task_that_came_again_has_all_its_attempts_shown(here):
    script = HELPERS_WAIT + "echo attempt $MILLRACE_ATTEMPT; [ $MILLRACE_ATTEMPT = 2 ] || exit 3"
    roles = "{files: 1, map: {count: 1, restart: {on: [3], pause: 100ms}}}"
    here.millrace("submit", here.job(script, roles))
    code, output = here.millrace("wait", "words")
    assert code == 0 and "with 1 restart" in output, output
    assert here.millrace("logs", "words", "map:0") == (
        0,
        "map:0    | attempt 1\nmap:0    | attempt 2\n",
    )
    assert re.search(r"map:0 +\S+ +2 +completed", here.millrace("status", "words")[1])


def test_a_job_that_has_ended_can_be_run_again_and_one_that_runs_can_not(here):
    job = here.job(HELPERS_WAIT + "echo $A; until [ -e go ]; do sleep 0.05; done", env="{A: once}")
    here.millrace("submit", job)
    code, output = here.millrace("rerun", "words")
    assert code == 1 and "job 'words' has not ended" in output, output
    (here.folder / "go").touch()
    assert here.millrace("wait", "words")[0] == 0
    Path(job).unlink()
    assert here.millrace("rerun", "words", "--name", "again") == (0, "again\n")
    assert here.millrace("wait", "again")[0] == 0
    assert here.kept() == ["again", "words"]
    code, output = here.millrace("rerun", "words", "--log-dir", "first")
    assert code == 0 and output.endswith("\nwords\n"), output
    assert here.millrace("wait", "words")[0] == 0
    assert (here.folder / "first" / "map_1.log").read_text() == "once\n"
    assert here.millrace("logs", "words", "map:1") == (0, "map:1    | once\n")


def test_a_job_that_has_ended_goes_when_its_time_is_over(here):
    here.millrace("submit", here.job("true", "{map: 1}", keep="100ms"))
    here.wait_until(lambda: "words" not in here.millrace("list")[1], "its time is over")
    assert here.kept() == []
    code, output = here.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_many_lines_are_shown_whole_and_in_order(here):
    here.millrace("submit", here.job("seq 200000; printf 'no end'", "{map: 1}"))
    assert here.millrace("wait", "words")[0] == 0
    code, output = here.millrace("logs", "words")
    lines = output.splitlines()
    assert code == 0 and len(lines) == 200001
    assert lines[0].endswith("| 1") and lines[199999].endswith("| 200000")
    assert lines[-1].endswith("| no end")


def test_its_journal_is_a_record_that_others_can_read(here):
    here.millrace("submit", here.job("exit 3", "{map: 1}"))
    assert here.millrace("wait", "words")[0] == 1
    path = here.folder / "kept" / "local" / "words" / "journal"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["millrace_journal"] == 1
    assert [line for line in lines if "ended" in line][0]["ended"][0]["code"] == 3
    assert lines[-1]["over"] is True


@pytest.mark.parametrize("verb", ["status", "logs", "wait", "stop", "rerun"])
def test_a_job_that_is_not_there_is_told(here, verb):
    code, output = here.millrace(verb, "nobody")
    assert code == 1 and "there is no job 'nobody'" in output, output


def test_a_second_launcher_leaves_the_first_ones_folder_as_it_is(here):
    run = [here.command, "run", "--folder", "kept/local/words", here.job("echo up", "{map: 1}")]
    assert subprocess.run(run, cwd=here.folder, timeout=PATIENCE).returncode == 0
    second = subprocess.run(run, cwd=here.folder, capture_output=True, text=True, timeout=PATIENCE)
    assert second.returncode == 1 and "has been started before" in second.stderr, second.stderr
    assert (here.folder / "kept" / "local" / "words" / "logs" / "map_0.log").read_text() == "up\n"


def test_a_launcher_that_can_not_write_any_more_goes_on_and_can_be_stopped(here):
    script = "[ -e go ] && { " + WRITES_PID + "exec sleep 600; }; "
    script += "until [ -e go ]; do sleep 0.05; done; exit 3"
    job = here.job(script, "{map: {count: 1, restart: {on: [3], pause: 100ms}}}")
    # As on a full disk; without the signal that a limit comes with.
    ignore = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # noqa: E731
    submit = here.start("submit", job, preexec_fn=ignore)
    assert submit.communicate(timeout=PATIENCE)[0] == "words\n"
    resource.prlimit(here.launcher(), resource.RLIMIT_FSIZE, (20, 20))
    (here.folder / "go").touch()
    here.wait_until(here.pids, "the task comes again")
    assert "its launcher was killed" not in here.millrace("status", "words")[1]
    assert here.millrace("stop", "words")[0] == 0
    assert here.pids() == []


def test_a_job_is_not_taken_for_gone_where_its_launcher_has_no_number(here):
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine lets nobody have process numbers of their own")
    here.millrace("submit", here.job(WRITES_PID + "exec sleep 600"))
    here.wait_until(lambda: len(here.pids()) == 3, "all tasks run")
    for verb, code, told in [("status", 0, "3 of 3 tasks run"), ("stop", 1, "does not see it")]:
        done = subprocess.run(
            [*apart, here.command, verb, "--on", "local", "words"],
            env=here.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == code and told in done.stdout + done.stderr, done
    assert len(here.pids()) == 3 and here.kept() == ["words"]


def test_stop_waits_for_a_launcher_that_is_just_beginning(here):
    """It would make its folder anew, and go on where nobody knows of it."""
    folder = here.folder / "kept" / "local" / "words"
    folder.mkdir(parents=True)
    (folder / "submission").write_text(json.dumps({"submitted": int(time.time() * 1e6)}))
    Path(here.job(WRITES_PID + "exec sleep 600")).rename(folder / "job.yaml")
    stop = here.start("stop", "words")
    with pytest.raises(subprocess.TimeoutExpired):
        stop.communicate(timeout=0.5)
    launcher = subprocess.Popen(
        [here.command, "run", "--folder", folder, folder / "job.yaml"],
        cwd=here.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=default_signals,
    )
    assert stop.communicate(timeout=PATIENCE)[0] == "words is gone\n"
    assert launcher.wait(PATIENCE) == 130
    assert here.kept() == [] and here.pids() == []


def test_a_command_runs_beside_a_task_with_its_environment_and_in_its_directory(here):
    (here.folder / "work").mkdir()
    script = HELPERS_WAIT + "until [ -e ../go ]; do sleep 0.05; done"
    job = here.job(script, directory=str(here.folder / "work"), env="{GREETING: hello}")
    here.millrace("submit", job)
    here.wait_until(lambda: "3 of 3 tasks run" in here.millrace("status", "words")[1], "it runs")
    shows = 'pwd; echo "$GREETING $TF_CONFIG"; env | grep MILLRACE_ | cut -d= -f1; exit 7'
    code, output = here.millrace("exec", "words", "map:1", "--", "sh", "-c", shows)
    assert code == 7, output
    where, told, *names = output.splitlines()
    assert where == str(here.folder / "work")
    assert told.startswith("hello ")
    config = json.loads(told.removeprefix("hello "))
    assert config["task"] == {"type": "map", "index": 1}
    assert len(config["cluster"]["map"]) == 2
    # What was handed over to the program is not there for a second one.
    assert "MILLRACE_ATTEMPT" in names
    assert not {"MILLRACE_LISTEN_FD", "MILLRACE_REPORT_FD"} & set(names)

    code, output = here.millrace("exec", "words", "map:7", "--", "true")
    assert code == 1 and "there are: files:0, map:0, map:1" in output, output
    code, output = here.millrace("exec", "words", "map:1", "--", "no-such-program")
    assert code == 126 and "'no-such-program' can't be run" in output, output
    code, output = here.millrace("exec", "words", "map:1")
    assert code == 2 and "write it after '--'" in output, output

    (here.folder / "go").touch()
    assert here.millrace("wait", "words")[0] == 0
    code, output = here.millrace("exec", "words", "map:1", "--", "true")
    assert code == 1 and "map:1 has ended" in output, output


def test_who_is_attached_to_a_task_sees_it_alone_and_ends_as_the_job_does(here):
    script = HELPERS_WAIT + "echo counted; until [ -e go ]; do sleep 0.05; done; exit 3"
    here.millrace("submit", here.job(script))
    attached = here.start("attach", "words", "map:1")
    while (line := attached.stdout.readline()) != "map:1    | counted\n":
        assert line and not line.startswith("map:0 "), line
    (here.folder / "go").touch()
    rest, _ = attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 1 and "exit code 3" in rest, rest
    assert not [line for line in rest.splitlines() if line.startswith("map:0 ")], rest

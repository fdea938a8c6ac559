"""Jobs that run several times on Slurm, once after the other, until they succeed: arrays for reruns."""

import json
import re

import pytest

from managed import HELPERS_WAIT, own_lines
from slurm_queue import cluster, jobs_of_a_test

THREE = "{runs: 3}"
# Goes on where the last run stopped, which it does in steps that take longer than a run may.
TRAINING = (
    "step=$(cat step 2>/dev/null || echo 0); echo goes on at $step; "
    "[ $step -ge 2 ] && echo done && exit 0; echo $((step + 2)) > step; exec sleep 600"
)


@pytest.fixture(scope="module")
def slurm():
    with cluster(cores=2) as environment:
        yield environment


@pytest.fixture
def queue(slurm, tmp_path):
    with jobs_of_a_test(slurm, tmp_path) as queue:
        yield queue


def status(queue, text):
    """Waits until `status` says that."""
    queue.wait_until(lambda: text in queue.millrace("status", "words")[1], text)


def elements(queue):
    """What Slurm tells of each run that has had machines, and of the rest."""
    lines = queue.run("squeue", "--noheader", "--states=all", "--array", "--format=%i %T").stdout
    return sorted(
        line for line in lines.splitlines() if line.split()[0].split("_")[0] == array(queue)
    )


def array(queue):
    submission = json.loads((queue.folder / "kept" / "slurm" / "words" / "submission").read_text())
    return submission["number"]


def launcher_log(queue):
    return (queue.folder / "kept" / "slurm" / "words" / "launcher.log").read_text()


def test_a_run_whose_time_is_over_is_followed_by_one_that_goes_on_from_its_checkpoint(queue):
    job = queue.job(TRAINING, "{map: 1}", time_limit="8s", slurm=THREE)
    code, output = queue.millrace("run", job, "--log-dir", "logs")
    assert code == 0, output
    assert "run 1 of 3 has ended: time limit of 8.0 s; the next is " in output, output
    assert "map:0 is started again: attempt 2" in output, output
    assert re.search(r"job succeeded in .*\(run 2 of 3; before it: time limit of 8.0 s\)", output)
    assert own_lines((queue.folder / "logs" / "map_0.log").read_text())[0] == "goes on at 0"
    assert own_lines((queue.folder / "logs" / "map_0.2.log").read_text()) == [
        "goes on at 2",
        "done",
    ]
    # The third is not needed, and Slurm has been told.
    queue.wait_until(lambda: queue.left()[0] == [], "nothing waits")
    states = elements(queue)
    assert not any("RUNNING" in state or "PENDING" in state for state in states), states
    assert f"{array(queue)}_2 COMPLETED" in states, states
    shown = queue.run("scontrol", "show", "job", array(queue)).stdout
    assert "JobState=CANCELLED" in shown and "ArrayTaskId=3" in shown, shown
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "run 2 of 3" in output, output
    logs = queue.millrace("logs", "words")[1]
    assert "goes on at 0" in logs and "goes on at 2" in logs, logs


def test_a_success_in_the_first_run_calls_the_others_off(queue):
    code, output = queue.millrace("run", queue.job("echo counted", "{map: 2}", slurm=THREE))
    assert code == 0 and "(run 1 of 3)" in output, output
    queue.wait_until(lambda: queue.left()[0] == [], "nothing waits")
    # squeue tells of those that will not begin any more as one.
    assert elements(queue) == [f"{array(queue)} CANCELLED", f"{array(queue)}_1 COMPLETED"]
    assert launcher_log(queue).count("run 1 of 3") >= 1 and "run 2 of 3" not in launcher_log(queue)


def test_a_job_that_fails_in_all_its_runs_has_failed_for_the_reason_of_the_last(queue):
    script = HELPERS_WAIT + "echo try $MILLRACE_ATTEMPT; exit $((MILLRACE_ATTEMPT + 2))"
    job = queue.job(script, "{files: 1, map: 1}", slurm=THREE)
    code, output = queue.millrace("run", job)
    assert code == 1, output
    assert [f"try {i}" in output for i in (1, 2, 3)] == [True] * 3, output
    assert re.search(
        r"job failed after .*\(run 3 of 3; before it: map:0: exit code 4\): map:0: exit code 5",
        output,
    ), output
    assert len([state for state in elements(queue) if "FAILED" in state]) == 3
    # Its last word needs nobody to confirm it.
    queue.environment["SLURM_CONF"] = "/nonexistent"
    code, output = queue.millrace("wait", "words")
    assert code == 1 and "run 3 of 3" in output, output


def test_a_job_whose_second_run_succeeds_was_tried_again_after_a_failure(queue):
    script = "[ $MILLRACE_ATTEMPT = 2 ] || exit 3"
    queue.millrace("submit", queue.job(script, "{map: 1}", slurm=THREE))
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "(run 2 of 3; before it: map:0: exit code 3)" in output, output


def test_stop_ends_the_run_that_is_there_and_those_that_wait(queue):
    script = "trap 'touch peace_{task_index}; exit 0' TERM; sleep 600 & wait"
    queue.millrace("submit", queue.job(script, "{map: 2}", slurm=THREE))
    queue.wait_for_tasks(2)
    assert "(run 1 of 3)" in queue.millrace("status", "words")[1]
    code, output = queue.millrace("stop", "words")
    assert code == 0, output
    assert queue.left() == ([], [])
    assert len(list(queue.folder.glob("peace_*"))) == 2


def test_between_two_runs_a_job_says_what_the_next_one_waits_for_and_may_be_stopped(queue):
    queue.millrace(
        "submit", queue.job("until [ -e fail ]; do sleep 0.1; done; exit 3", slurm=THREE)
    )
    queue.wait_for_tasks()
    queue.run("scontrol", "hold", array(queue))
    (queue.folder / "fail").touch()
    status(queue, "run 1 of 3 has ended: ")
    status(queue, "the next is queued: ")
    assert "words" in queue.millrace("list")[1]
    code, output = queue.millrace("stop", "words")
    assert code == 0, output
    assert queue.left() == ([], [])


def test_who_cancels_the_whole_array_has_ended_the_job(queue):
    queue.millrace("submit", queue.job("exec sleep 600", slurm=THREE))
    queue.wait_for_tasks()
    queue.run("scancel", array(queue))
    code, output = queue.millrace("wait", "words")
    assert code == 130, output


def test_who_cancels_one_run_has_the_next_one_begin(queue):
    script = "[ $MILLRACE_ATTEMPT = 1 ] || exit 0; exec sleep 600"
    queue.millrace("submit", queue.job(script, "{map: 2}", slurm=THREE))
    queue.wait_for_tasks(2)
    queue.run("scancel", f"{array(queue)}_1")
    code, output = queue.millrace("wait", "words")
    assert code == 0, output
    assert "(run 2 of 3; before it: it was cancelled, as scancel does)" in output, output


def test_a_command_beside_a_task_is_in_the_run_that_is_there(queue):
    script = "[ $MILLRACE_ATTEMPT = 1 ] && exit 3; echo here > where; exec sleep 600"
    queue.millrace("submit", queue.job(script, "{map: 1}", slurm=THREE))
    queue.wait_until(lambda: (queue.folder / "where").exists(), "the second run")
    queue.wait_for_tasks(1)
    code, output = queue.millrace("exec", "words", "map:0", "--", "sh", "-c", "echo $TF_CONFIG")
    assert code == 0 and '"index":0' in output.replace(" ", ""), output


def test_a_run_that_is_requeued_comes_again_and_no_two_run_at_once(queue):
    # Who is asked to end takes its time; the next run is to wait for that.
    script = (
        "[ -e running ] && { echo two at once; touch twice; }; touch running; "
        "[ $MILLRACE_ATTEMPT = 1 ] || { rm running; exit 0; }; "
        "trap 'sleep 1; rm running; exit 1' TERM; sleep 600 & wait"
    )
    job = queue.job(script, "{map: 1}", slurm="{runs: 3, requeue: true}")
    queue.millrace("submit", job)
    queue.wait_for_tasks(1)
    queue.run("scontrol", "requeue", f"{array(queue)}_1")
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "before it: it was requeued, as scontrol does" in output, output
    assert not (queue.folder / "twice").exists(), output
    queue.wait_until(lambda: queue.left()[0] == [], "nothing waits")

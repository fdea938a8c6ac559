"""What users ask of a job on Slurm, on a real one of four nodes, which tools/slurm-cluster runs on this
machine."""

import json
import re
import sys
from pathlib import Path

import pytest

from managed import (
    HELPERS_WAIT,
    PATIENCE,
    JobsOfOurLauncher,
    count_words,
    fail_with_last_words,
    own_lines,
    run_out_of_memory,
)
from slurm_queue import ROOT, Queue, cluster, jobs_of_a_test


@pytest.fixture(scope="module")
def slurm():
    with cluster(cores=2) as environment:
        yield environment


@pytest.fixture
def queue(slurm, tmp_path):
    with jobs_of_a_test(slurm, tmp_path) as queue:
        yield queue


class TestOurLauncher(JobsOfOurLauncher):
    pass


def test_word_count_is_exact_and_every_task_is_heard(queue):
    output = count_words(queue, queue.texts())
    assert "ending the tasks that are left" not in output


def test_what_is_submitted_is_what_explain_shows_and_where_it_is_kept(queue):
    job = queue.job("true")
    shown = queue.run("millrace", "explain", job, "--on", "slurm").stdout.splitlines()
    assert queue.millrace("submit", job) == (0, "words\n")
    folder = queue.folder / "kept" / "slurm" / "words"
    given = (folder / "batch.sh").read_text().splitlines()
    assert [line for line in given if line not in shown] == [
        f"#SBATCH --output={folder}/launcher.log",
        f"#SBATCH --comment={folder}",
        f"exec millrace run --on srun --folder {folder} /dev/stdin <<'END_OF_JOB'",
    ]
    assert queue.millrace("wait", "words")[0] == 0


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)


def test_a_task_that_takes_more_memory_than_it_may_is_told_so(queue):
    run_out_of_memory(queue, "60Mi")


def test_stop_ends_the_tasks_and_leaves_nothing(queue):
    queue.millrace("submit", queue.job("echo up; exec sleep 600"))
    queue.wait_for_tasks()
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert queue.left() == ([], [])
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]
    code, output = queue.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_a_job_that_waits_says_what_for_and_can_be_stopped(queue):
    queue.millrace(
        "submit", queue.job("exec sleep 600", "{map: {count: 8, cpus: 1}}"), "--name", "big"
    )
    found = queue.wait_until(
        lambda: "8 of 8 tasks run" in queue.millrace("status", "big")[1], "the first job runs"
    )
    assert found
    queue.millrace("submit", queue.job("exec sleep 600"))
    status = queue.wait_until(
        lambda: re.search(
            r"no machine is free for it|others come before", queue.millrace("status", "words")[1]
        ),
        "Slurm says why",
    )
    assert status
    assert queue.millrace("stop", "words")[0] == 0
    assert queue.left()[1] == ["big"]
    assert queue.millrace("stop", "big")[0] == 0


def test_a_job_that_is_cancelled_by_hand_was_interrupted(queue):
    queue.millrace("submit", queue.job("exec sleep 600"))
    queue.wait_for_tasks()
    queue.run("scancel", queue.number())
    code, output = queue.millrace("wait", "words")
    assert code == 130 and "interrupted by" in output, output


def test_a_machine_that_is_lost_is_told_by_the_task_that_ran_there(queue):
    # Two cores a task: one on each machine, and the launcher on the first.
    job = queue.job("echo on $SLURMD_NODENAME; exec sleep 600", "{map: {count: 3, cpus: 2}}")
    running = queue.start("run", job)
    where = {}
    for line in running.stdout:
        if found := re.match(r"(map:\d) +\| on (n\d)", line):
            where[found[1]] = found[2]
        if len(where) == 3:
            break
    first = min(where.values())
    task, machine = next(pair for pair in where.items() if pair[1] != first)
    try:
        queue.run("scontrol", "update", f"nodename={machine}", "state=down", "reason=test")
        output, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 1, output
        assert re.search(rf"{task} +its machine {machine} is lost", output), output
        assert f"{task}: its machine {machine} is lost" in output.splitlines()[-1]
    finally:
        queue.run("scontrol", "update", f"nodename={machine}", "state=resume")


def test_the_machine_of_the_launcher_may_be_lost_and_that_is_said(queue):
    queue.millrace("submit", queue.job("exec sleep 600"))
    queue.wait_for_tasks()
    machine = queue.run("squeue", "--noheader", "--format=%B").stdout.strip()
    try:
        queue.run("scontrol", "update", f"nodename={machine}", "state=down", "reason=test")
        code, output = queue.millrace("wait", "words")
        # The launcher may have had the time to say what it saw: that it was ended, or a task.
        assert code in (1, 130), output
        told = f"{machine}.* is lost|a machine of it was lost|interrupted by SIGTERM"
        assert re.search(told, output), output
    finally:
        queue.run("scontrol", "update", f"nodename={machine}", "state=resume")
        queue.wait_until(
            lambda: queue.idle_machines() == "4",
            "all machines are back",
        )


def test_a_job_without_a_limit_has_that_of_its_allocation(queue):
    queue.environment = {**queue.environment, "SBATCH_TIMELIMIT": "1"}
    queue.millrace("submit", queue.job(HELPERS_WAIT))
    assert queue.millrace("wait", "words")[0] == 0
    journal = queue.folder / "kept" / "slurm" / "words" / "journal"
    limit = json.loads(journal.read_text().splitlines()[0])["time_limit"] / 1e9
    # Within the minute, and in time to end the tasks.
    assert 10 < limit <= 53


def test_what_the_cluster_can_not_give_is_told_and_nothing_is_left(queue):
    code, output = queue.millrace("submit", queue.job("true", "{map: {count: 1, memory: 900Gi}}"))
    assert code == 2 and "the cluster has no machines for this job" in output, output
    code, output = queue.millrace("submit", queue.job("true", queue="nowhere"))
    assert code == 2 and "sinfo shows the partitions" in output, output
    assert queue.left() == ([], [])


def test_a_job_that_has_ended_goes_when_its_time_is_over(queue):
    assert queue.millrace("run", queue.job(HELPERS_WAIT, keep="1s"))[0] == 0
    queue.wait_until(lambda: "words" not in queue.millrace("list")[1], "its time is over")
    assert queue.left() == ([], [])


FIRST = '[ "$MILLRACE_ATTEMPT" = 1 ]'


def machines_of(text):
    """The machine of each task, as `status` shows it."""
    return dict(re.findall(r"^(\w+:\d+) +(n\d) ", text, re.MULTILINE))


def test_a_task_that_fails_comes_back_on_its_machine_at_its_address(queue):
    roles = "{files: 1, map: {count: 2, cpus: 2, restart: {budget: 5 in 5m, pause: 100ms}}}"
    script = (
        'echo "attempt $MILLRACE_ATTEMPT on $SLURMD_NODENAME at $MILLRACE_LISTEN_ADDRESS knows {map_hosts}"; '
        "[ {job_name} = files ] && exec sleep 600; "
        f"{FIRST} && [ {{task_index}} = 1 ] && {{ until [ -e go ]; do sleep 0.1; done; kill -9 $$; }}; "
        "until [ -e end ]; do sleep 0.1; done"
    )
    queue.millrace("submit", queue.job(script, roles))
    queue.wait_for_tasks()
    before = queue.millrace("status", "words")[1]
    (queue.folder / "go").touch()
    queue.wait_until(
        lambda: re.search(r"map:1 +n\d +2 +runs", queue.millrace("status", "words")[1]),
        "map:1 runs again",
    )
    assert machines_of(queue.millrace("status", "words")[1]) == machines_of(before)
    (queue.folder / "end").touch()
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "with 1 restart" in output, output
    code, logs = queue.millrace("logs", "words", "map:1")
    told = re.findall(r"attempt (\d) (on \S+ at \S+ knows \S+)", logs)
    assert [attempt for attempt, _ in told] == ["1", "2"] and told[0][1] == told[1][1], logs


def test_a_task_that_fails_too_often_fails_the_job_with_its_limit(queue):
    roles = "{files: 1, map: {count: 1, restart: {budget: 2 in 5m, pause: 100ms}}}"
    code, output = queue.millrace("run", queue.job(HELPERS_WAIT + "exit 3", roles))
    assert code == 1, output
    limit = "map:0: exit code 3; its role was restarted 2 times within 5 min 0 s, and may not be more often"
    assert f"with 2 restarts: {limit}" in output, output


def test_tasks_are_asked_to_end_and_have_their_grace(queue):
    script = "trap 'touch peace_{job_name}_{task_index}; exit 0' TERM; echo up; sleep 600 & wait"
    queue.millrace("submit", queue.job(script))
    queue.wait_for_tasks()
    assert queue.millrace("stop", "words")[0] == 0
    assert len(list(queue.folder.glob("peace_*"))) == 3


def test_a_task_that_does_not_end_is_killed_after_the_grace(queue):
    script = (
        "[ {job_name} = map ] && { until [ -s pid ]; do sleep 0.1; done; exit 0; }; "
        "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
    )
    code, output = queue.millrace("run", queue.job(script))
    assert code == 0, output
    assert re.search(r"files:0 +stopped: job finished", output), output
    pid = (queue.folder / "pid").read_text().strip()
    queue.wait_until(lambda: not Path(f"/proc/{pid}").exists(), "it is killed")


def test_a_machine_that_is_lost_takes_a_task_for_good(queue):
    roles = "{map: {count: 3, cpus: 2, restart: on_failure, may_lose: 1}}"
    queue.millrace("submit", queue.job("until [ -e end ]; do sleep 0.1; done", roles))
    queue.wait_for_tasks()
    launcher = queue.run("squeue", "--noheader", "--format=%B").stdout.strip()
    where = machines_of(queue.millrace("status", "words")[1])
    task, machine = next(pair for pair in where.items() if pair[1] != launcher)
    try:
        queue.run("scontrol", "update", f"nodename={machine}", "state=down", "reason=test")
        queue.wait_until(
            lambda: "is lost" in queue.millrace("status", "words")[1], "the loss is seen"
        )
        (queue.folder / "end").touch()
        code, output = queue.millrace("wait", "words")
        assert code == 0 and f"without {task}" in output, output
        launcher_log = (queue.folder / "kept" / "slurm" / "words" / "launcher.log").read_text()
        assert "it can't come back to where the others look for it" in launcher_log
    finally:
        queue.run("scontrol", "update", f"nodename={machine}", "state=resume")
        queue.wait_until(
            lambda: queue.idle_machines() == "4",
            "all machines are back",
        )


def test_a_job_is_scaled_from_two_to_four_to_one(queue):
    roles = "{files: 1, map: {count: 2, min: 1, max: 4}}"
    script = (
        'echo "attempt $MILLRACE_ATTEMPT at $MILLRACE_LISTEN_ADDRESS knows {map_hosts}"; '
        "until [ -e end ]; do sleep 0.1; done"
    )
    queue.millrace("submit", queue.job(script, roles))
    assert queue.run("squeue", "--noheader", "--format=%C").stdout.strip() == "5"
    queue.wait_for_tasks()
    assert queue.millrace("scale", "words", "map=4") == (0, "map: 2 -> 4 tasks\n")
    queue.wait_for_tasks(5)
    assert queue.millrace("scale", "words", "map=1") == (0, "map: 4 -> 1 task\n")
    queue.wait_for_tasks(2)
    status = queue.millrace("status", "words")[1]
    assert re.search(r"map:3 .*scaled down", status), status
    queue.millrace("scale", "words", "map=3")
    queue.wait_for_tasks(4)
    (queue.folder / "end").touch()
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "job succeeded" in output, output
    assert re.search(r"map:2 +completed, attempt 2", output), output
    logs = queue.millrace("logs", "words", "map:2")[1]
    told = re.findall(r"attempt (\d) at (\S+) knows (\S+)", logs)
    assert [attempt for attempt, *_ in told] == ["1", "2"] and told[0][1:] == told[1][1:], logs
    assert told[0][2].count(",") == 3 and told[0][1] == told[0][2].split(",")[2]


def test_a_task_that_scaling_takes_away_has_its_grace_and_is_killed_then(queue):
    roles = "{files: 1, map: {count: 2, min: 1}}"
    script = HELPERS_WAIT + (
        "[ {task_index} = 1 ] && { trap 'echo asked >> asked' TERM; echo $$ > pid; while :; do sleep 1; done; }; "
        "until [ -e end ]; do sleep 0.1; done"
    )
    queue.millrace("submit", queue.job(script, roles))
    queue.wait_for_tasks()
    queue.wait_until((queue.folder / "pid").exists, "map:1 runs")
    assert queue.millrace("scale", "words", "map=1")[0] == 0
    queue.wait_for_tasks(2)
    pid = (queue.folder / "pid").read_text().strip()
    queue.wait_until(lambda: not Path(f"/proc/{pid}").exists(), "it is killed")
    assert (queue.folder / "asked").exists()
    (queue.folder / "end").touch()
    assert queue.millrace("wait", "words")[0] == 0


def test_a_parameter_server_and_two_workers_train_the_digits(queue):
    roles = "{ps: 1, worker: 2}"
    program = str(ROOT / "examples" / "03_digits_on_a_cluster.py")
    code, output = queue.millrace("run", queue.job([sys.executable, program], roles, "worker"))
    assert code == 0, output
    accuracies = [float(value) for value in re.findall(r"\| accuracy (\S+)", output)]
    assert accuracies and min(accuracies) > 0.9, output
    assert re.search(r"ps:0 +stopped: job finished", output), output


def test_a_program_that_is_not_there_is_named(queue):
    code, output = queue.millrace("run", queue.job(["no-such-program"]))
    assert code == 1 and "can't run 'no-such-program': No such file" in output, output


def test_what_the_queue_does_not_allow_is_told_and_given_up(queue):
    # Its jobs have one machine each, for a minute.
    job = queue.job("true", "{map: {count: 3, cpus: 2}}", queue="small")
    code, output = queue.millrace("run", job)
    assert code == 2 and "the cluster has no machines for this job" in output, output
    job = queue.job("true", "{map: 1}", queue="small", time_limit="30m")
    code, output = queue.millrace("run", job, "--patience", "2s")
    assert code == 1 and "its queue allows no such job" in output, output
    assert queue.left() == ([], [])


def test_of_two_jobs_that_do_not_fit_together_one_comes_after_the_other(queue):
    # Six of eight cores each: both would wait for ever if each had a part of them.
    for name in ("one", "two"):
        queue.millrace(
            "submit", queue.job(f"echo x >> {name}; sleep 1", "{map: 6}"), "--name", name
        )
    for name in ("one", "two"):
        assert queue.millrace("wait", name)[0] == 0
        assert (queue.folder / name).read_text() == "x\n" * 6


def test_a_task_that_hangs_is_ended_by_the_time_limit_and_named(queue):
    script = HELPERS_WAIT + "[ {task_index} = 1 ] && exec sleep 600; exit 0"
    code, output = queue.millrace("run", queue.job(script, time_limit="5s"))
    assert code == 1 and "time limit of 5.0 s" in output, output
    assert re.search(r"map:1 +stopped: time limit of 5\.0 s", output), output
    assert re.search(r"map:0 +completed", output), output


def test_thirty_tasks_come_together(tmp_path):
    with cluster(cores=8) as environment:
        queue = Queue("slurm", environment, tmp_path)
        code, output = queue.millrace("run", queue.job("echo I am {task_index}", "{map: 30}"))
        assert code == 0, output
        said = re.findall(r"\| I am (\d+)$", output, re.MULTILINE)
        assert {int(number) for number in said} == set(range(30)), output

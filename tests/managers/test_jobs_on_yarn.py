"""What users ask of a job on YARN, on a real one of three machines, which tools/yarn-cluster runs on this
machine."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from managed import (
    HELPERS_WAIT,
    PATIENCE,
    JobsOfOurLauncher,
    count_words,
    fail_with_last_words,
    own_lines,
    run_job_that_makes_files,
    run_out_of_memory,
)
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


class TestOurLauncher(JobsOfOurLauncher):
    pass


def test_word_count_is_exact_and_every_task_is_heard(queue):
    count_words(queue, queue.texts())
    # YARN knows how it went, in the same words.
    app = queue.ended_application()
    assert app["finalStatus"] == "SUCCEEDED"
    assert app["diagnostics"].startswith("job succeeded in ")


def test_the_tasks_run_in_containers_on_both_machines_where_the_job_was_submitted(queue):
    job = queue.job('echo "in $(pwd) with $CONTAINER_ID"; sleep 1', "{map: {count: 5, cpus: 1}}")
    code, output = queue.millrace("run", job)
    assert code == 0, output
    assert output.count(f"| in {queue.folder} with container_") == 5, output
    assert len(set(re.findall(r"with (container_\w+)", output))) == 5
    nodes = set(re.findall(r"yarn: runs in container_\w+ on (\S+)", output))
    assert len(nodes) == 2, output
    # What its lines went through is gone with them.
    assert not list((queue.folder / "kept" / "yarn" / "words").glob("container_*"))


def test_what_stands_in_quotes_comes_to_the_program_as_it_is(queue):
    (queue.folder / "words.yaml").write_text(
        "command: [sh, -c, 'printf \"%s|\" \"$@\"; sleep 0', x, '$HOME \"a\" {{B}} <LOG_DIR>', 'c`d\\e']\n"
        "roles: {map: 1}\nname: words\n"
    )
    code, output = queue.millrace("run", "words.yaml")
    assert code == 0 and '$HOME "a" {{B}} <LOG_DIR>|c`d\\e|' in output, output


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)
    app = queue.ended_application()
    assert app["finalStatus"] == "FAILED" and "map:1: exit code 3" in app["diagnostics"]


def test_a_task_that_takes_more_memory_than_it_may_is_told_so(queue):
    assert "64 MB physical memory used" in run_out_of_memory(queue, "64Mi")


def test_a_program_that_is_not_there_is_named(queue):
    code, output = queue.millrace("run", queue.job(["no-such-program"]))
    assert code == 1 and "can't run 'no-such-program': No such file" in output, output


def test_a_machine_that_lacks_the_command_says_so(queue):
    command = shutil.which("millrace")
    queue.environment["PATH"] = "/usr/bin:/bin"
    done = queue.run(command, "run", queue.job("true"), "--on", "yarn")
    assert done.returncode == 1, done.stdout
    assert "ended with code 127: " in done.stdout and "millrace: not found" in done.stdout


def test_stop_ends_the_tasks_as_they_wish_and_leaves_nothing(queue):
    script = "trap 'touch peace_{job_name}_{task_index}; exit 0' TERM; echo up; sleep 600 & wait"
    queue.millrace("submit", queue.job(script))
    queue.wait_for_tasks()
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert queue.left() == ([], [])
    queue.wait_until(lambda: queue.num_containers() == 0, "the containers are gone")
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]
    assert len(list(queue.folder.glob("peace_*"))) == 3
    code, output = queue.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_a_task_that_does_not_end_is_killed_after_the_grace(queue):
    script = (
        "[ {job_name} = map ] && { until [ -s pid ]; do sleep 0.1; done; exit 0; }; "
        "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
    )
    code, output = queue.millrace("run", queue.job(script))
    assert code == 0, output
    assert re.search(r"files:0 +stopped: job finished \(SIGKILL was needed\)", output), output
    pid = (queue.folder / "pid").read_text().strip()
    queue.wait_until(lambda: not Path(f"/proc/{pid}").exists(), "it is killed")


def test_a_job_that_waits_says_what_for_and_can_be_stopped(queue):
    # Of the small queue's machines, and then of their memory for launchers, there is enough for one.
    big = "{map: {count: 1, memory: 256Mi}}"
    queue.millrace("submit", queue.job("exec sleep 600", big, queue="small"), "--name", "big")
    queue.wait_until(
        lambda: "1 of 1 tasks run" in queue.millrace("status", "big")[1], "the first job runs"
    )
    queue.millrace("submit", queue.job("exec sleep 600", big, queue="small"))
    queue.wait_until(
        lambda: re.search(
            r"AM resource limit|no machine is free", queue.millrace("status", "words")[1]
        ),
        "YARN says why",
    )
    assert queue.millrace("stop", "words")[0] == 0
    assert queue.left()[1] == ["big"]
    assert queue.millrace("stop", "big")[0] == 0


def test_a_job_that_is_killed_by_hand_was_interrupted(queue):
    queue.millrace("submit", queue.job("exec sleep 600"))
    queue.wait_for_tasks()
    path = f"apps/{queue.application()}/state?user.name=root"
    queue.manager(path, "PUT", {"state": "KILLED"})
    code, output = queue.millrace("wait", "words")
    assert code == 130 and "interrupted by" in output, output


def test_a_launcher_that_is_killed_is_said_and_its_tasks_are_ended(queue):
    queue.millrace("submit", queue.job("echo $$ >> pids; exec sleep 600"))
    queue.wait_for_tasks()
    folder = str(queue.folder / "kept" / "yarn" / "words")
    parents = {
        int(entry.name): int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and (words := (entry / "cmdline").read_bytes().split(b"\0"))[:4]
        == [b"millrace", b"run", b"--on", b"yarn-am"]
        and folder.encode() in words
    }
    # The application master, its launcher, and that one's keepers.
    (master,) = (pid for pid, parent in parents.items() if parent not in parents)
    os.kill(master, signal.SIGKILL)
    code, output = queue.millrace("wait", "words")
    assert code == 1 and "its launcher has ended" in output, output
    for pid in (queue.folder / "pids").read_text().split():
        queue.wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "its tasks are ended")


def test_a_manager_that_is_restarted_finds_the_job_again(queue):
    job = queue.job(HELPERS_WAIT + "until [ -e go ]; do sleep 0.1; done; echo counted")
    running = queue.start("run", job)
    queue.wait_for_tasks()
    queue.kill("manager")
    code, output = queue.millrace("status", "words")
    assert code == 1 and "YARN's ResourceManager does not answer" in output, output
    queue.bring_back()
    (queue.folder / "go").touch()
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0 and output.count("| counted") == 2, output
    assert queue.ended_application()["finalStatus"] == "SUCCEEDED"


def test_a_machine_that_is_lost_is_told_by_the_tasks_that_ran_there(queue):
    # So many don't fit on one machine.
    job = queue.job("echo $$ >> pids; exec sleep 600", "{map: {count: 5}}")
    running = queue.start("run", job)
    queue.wait_for_tasks(5)
    master = queue.manager(f"apps/{queue.application()}")["app"]["amHostHttpAddress"]
    other, name = ("node1", "localhost") if "127.0.0.2" in master else ("node2", "127.0.0.2")
    queue.kill(other)
    try:
        output, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 1, output
        assert re.search(rf"map:\d +its machine {name} is lost", output), output
        assert output.splitlines()[-1].endswith(f"its machine {name} is lost"), output
    finally:
        queue.bring_back()
        # The machine itself is not lost, and neither is what ran there.
        for pid in (queue.folder / "pids").read_text().split():
            if Path(f"/proc/{pid}").exists():
                os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("end", ["kill -9 $$", "exit 3"])
def test_a_task_that_fails_comes_back_on_its_machine_at_its_address(queue, end):
    roles = "{files: 1, map: {count: 4, restart: {budget: 5 in 5m, pause: 100ms}}}"
    script = (
        'echo "attempt $MILLRACE_ATTEMPT on $NM_HOST at $MILLRACE_LISTEN_ADDRESS knows {map_hosts}"; '
        "[ {job_name} = files ] && exec sleep 600; "
        f'[ {{task_index}} = 3 ] && [ "$MILLRACE_ATTEMPT" = 1 ] && {{ {end}; }}; exit 0'
    )
    code, output = queue.millrace("run", queue.job(script, roles))
    assert code == 0 and "with 1 restart" in output, output
    told = re.findall(r"map:3 +\| attempt (\d) (on \S+ at \S+ knows \S+)", output)
    assert [attempt for attempt, _ in told] == ["1", "2"] and told[0][1] == told[1][1], output
    assert re.search(r"map:3 +completed, attempt 2", output), output


def test_what_the_cluster_can_not_give_is_told_and_nothing_is_left(queue):
    code, output = queue.millrace("submit", queue.job("true", "{map: {count: 1, memory: 900Gi}}"))
    assert code == 2 and "the cluster has no machines for this job" in output, output
    code, output = queue.millrace("submit", queue.job("true", queue="nowhere"))
    assert code == 2 and "unknown queue: nowhere" in output, output
    assert queue.left() == ([], [])
    job = queue.job("true", "{map: {count: 1, nodes: {slow: ''}}}")
    code, output = queue.millrace("run", job)
    assert code == 1 and re.search("could not start: Invalid resource.*slow", output), output


def test_a_role_runs_where_its_label_is(queue):
    roles = "{files: 1, map: {count: 2, memory: 64Mi, nodes: {fast: ''}}}"
    code, output = queue.millrace("run", queue.job(HELPERS_WAIT, roles))
    assert code == 0, output
    where = dict(re.findall(r"(\S+) +\| yarn: runs in container_\w+ on (\S+)", output))
    assert where["map:0"] == where["map:1"] == "127.0.0.3" != where["files:0"], output


def test_a_role_runs_where_its_gpus_are(queue):
    roles = "{files: 1, map: {count: 2, memory: 64Mi, gpus: 1}}"
    code, output = queue.millrace("run", queue.job(HELPERS_WAIT, roles))
    assert code == 0, output
    where = dict(re.findall(r"(\S+) +\| yarn: runs in container_\w+ on (\S+)", output))
    assert where["map:0"] == where["map:1"] == "127.0.0.2", output
    many = queue.job("true", "{map: {count: 1, gpus: 3}}")
    code, output = queue.millrace("submit", many, "--name", "many")
    assert code == 2 and "asks for 3 GPUs, and YARN gives 2 at most" in output, output
    assert queue.left()[0] == []


def test_thirty_tasks_come_together(queue):
    roles = "{map: {count: 30, memory: 64Mi}}"
    code, output = queue.millrace("run", queue.job("echo I am {task_index}", roles))
    assert code == 0, output
    assert {int(number) for number in re.findall(r"\| I am (\d+)$", output, re.MULTILINE)} == set(
        range(30)
    )


def test_files_go_along_and_what_tasks_make_comes_back_however_they_end(queue):
    run_job_that_makes_files(queue)
    # A task works in a folder of its own, on the machine's own disk, and that is gone with it.
    assert not list(queue.folder.glob("**/scratch.txt"))


def test_a_task_whose_outputs_are_lost_has_not_succeeded(queue):
    (queue.folder / "taken").write_text("no folder")
    job = queue.job("echo a > a", "{map: 1}", outputs="a", output_dir="taken")
    code, output = queue.millrace("run", job)
    assert code == 1 and "map:0: exit code 1" in output, output
    assert f"can't make the folder '{queue.folder}/taken'" in output, output


def test_a_job_that_has_ended_goes_when_its_time_is_over(queue):
    assert queue.millrace("run", queue.job(HELPERS_WAIT, keep="1s"))[0] == 0
    queue.wait_until(lambda: "words" not in queue.millrace("list")[1], "its time is over")
    queue.wait_until(lambda: queue.left() == ([], []), "nothing is left")


# --- other numbers of tasks ---


def test_a_job_is_scaled_from_two_to_four_to_one(queue):
    roles = "{files: 1, map: {count: 2, min: 1, max: 4}}"
    script = (
        'echo "attempt $MILLRACE_ATTEMPT at $MILLRACE_LISTEN_ADDRESS knows {map_hosts}"; '
        "until [ -e end ]; do sleep 0.1; done"
    )
    code, output = queue.millrace("submit", queue.job(script, roles))
    assert code == 0, output
    queue.wait_for_tasks()
    # The launcher and three tasks: nothing is held for those that are absent.
    assert queue.num_containers() == 4
    assert queue.millrace("scale", "words", "map=4") == (0, "map: 2 -> 4 tasks\n")
    queue.wait_for_tasks(5)
    queue.wait_until(lambda: queue.num_containers() == 6, "YARN has given two containers more")
    queue.wait_until(
        lambda: "attempt 1" in queue.millrace("logs", "words", "map:2")[1], "map:2 has begun"
    )
    assert queue.millrace("scale", "words", "map=1") == (0, "map: 4 -> 1 task\n")
    queue.wait_for_tasks(2)
    queue.wait_until(lambda: queue.num_containers() == 3, "their containers are given back")
    status = queue.millrace("status", "words")[1]
    assert re.search(r"map:3 .*scaled down", status), status
    queue.millrace("scale", "words", "map=3")
    queue.wait_for_tasks(4)
    queue.wait_until(
        lambda: "attempt 2" in queue.millrace("logs", "words", "map:2")[1], "it has come back"
    )
    (queue.folder / "end").touch()
    code, output = queue.millrace("wait", "words")
    assert code == 0 and "job succeeded" in output, output
    assert re.search(r"map:2 +completed, attempt 2", output), output
    logs = queue.millrace("logs", "words", "map:2")[1]
    told = re.findall(r"attempt (\d) at (\S+) knows (\S+)", logs)
    assert [attempt for attempt, *_ in told] == ["1", "2"] and told[0][1:] == told[1][1:], logs
    assert told[0][2].count(",") == 3 and told[0][1] == told[0][2].split(",")[2]
    assert queue.millrace("stop", "words")[0] == 0
    assert queue.left() == ([], [])


def test_a_task_that_waits_for_room_on_its_machine_is_shown_as_waiting(queue):
    roles = "{files: {memory: 64Mi}, map: {count: 1, min: 1, max: 2, memory: 1500Mi}}"
    queue.millrace("submit", queue.job("until [ -e end ]; do sleep 0.1; done", roles))
    queue.wait_for_tasks(2)
    # Of the two machines that all may use, too little is left for it.
    big = queue.job("exec sleep 600", "{map: {count: 10, memory: 512Mi}}")
    queue.millrace("submit", big, "--name", "big")
    queue.wait_until(
        lambda: "10 of 10 tasks run" in queue.millrace("status", "big")[1], "the others run"
    )
    assert queue.millrace("scale", "words", "map=2")[0] == 0
    waits = r"map:1 .*it is being brought to its machine \S+, as soon as that has room"
    status = queue.wait_until(
        lambda: re.search(waits, text := queue.millrace("status", "words")[1]) and text,
        "it waits",
    )
    assert "2 of 3 tasks run" in status, status
    assert queue.millrace("stop", "big")[0] == 0
    queue.wait_for_tasks(3)


def test_a_task_that_scaling_takes_away_has_its_grace_and_is_killed_then(queue):
    roles = "{files: 1, map: {count: 2, min: 1}}"
    script = HELPERS_WAIT + (
        "[ {task_index} = 1 ] && { trap 'echo asked >> asked' TERM; echo $$ > pid; "
        "while :; do sleep 1; done; }; until [ -e end ]; do sleep 0.1; done"
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

"""Jobs that are given other numbers of tasks while they run: two mappers, then four, then one."""

import json
import re
import subprocess
import sys

from kept_jobs import HELPERS_WAIT, WRITES_PID
from processes import PATIENCE

ROLES = "{files: 1, map: {count: 2, max: 4}}"
# Each task tells that it began, and a mapper goes on until it may end.
COUNTS = WRITES_PID + "echo up $MILLRACE_ATTEMPT; "
COUNTS += HELPERS_WAIT + "until [ -e go ]; do sleep 0.05; done; echo counted"


def mappers(here):
    """The numbers of the mappers that are processes now."""
    names = here.folder.glob("pid_map_*")
    alive = {str(pid) for pid in here.pids()}
    return sorted(int(path.name[8:]) for path in names if path.read_text().strip() in alive)


def wait_for_mappers(here, numbers):
    here.wait_until(lambda: mappers(here) == numbers, f"mappers {numbers} run")


def status(here):
    return here.millrace("status", "words")[1]


def test_two_to_four_to_one(here):
    here.millrace("submit", here.job(COUNTS, ROLES))
    wait_for_mappers(here, [0, 1])
    first = here.pids()
    assert "3 of 3 tasks run" in status(here) and "map:2" not in status(here), status(here)

    assert here.millrace("scale", "words", "map=4") == (0, "map: 2 -> 4 tasks\n")
    wait_for_mappers(here, [0, 1, 2, 3])
    assert set(first) < set(here.pids()), "who was there stays"
    here.wait_until(lambda: "5 of 5 tasks run" in status(here), "all five run")

    assert here.millrace("scale", "words", "map=1") == (0, "map: 4 -> 1 task\n")
    wait_for_mappers(here, [0])
    here.wait_until(lambda: "2 of 2 tasks run" in status(here), "the others are gone")
    assert len(re.findall(r"map:[123] .* scaled down", status(here))) == 3, status(here)

    (here.folder / "go").touch()
    code, output = here.millrace("wait", "words")
    [verdict] = re.findall(r"^job .*", output, re.MULTILINE)
    assert code == 0 and verdict.startswith("job succeeded in"), output
    assert "restart" not in verdict, output
    assert re.search(r"map:0 +completed", output), output
    assert len(re.findall(r"map:[123] +scaled down", output)) == 3, output
    assert here.millrace("logs", "words", "map:3") == (0, "map:3    | up 1\n")


def test_new_tasks_have_the_cluster_with_everybody_in_it_and_the_old_ones_keep_theirs(
    here,
):
    shows = 'echo "$TF_CONFIG"; ' + COUNTS
    here.millrace("submit", here.job(shows, ROLES))
    wait_for_mappers(here, [0, 1])
    assert here.millrace("scale", "words", "map=3")[0] == 0
    wait_for_mappers(here, [0, 1, 2])
    here.wait_until(lambda: "up" in here.millrace("logs", "words", "map:2")[1], "it tells")
    told = {}
    for task in ("map:0", "map:2"):
        lines = here.millrace("logs", "words", task)[1].splitlines()
        told[task] = json.loads(lines[0].split("| ", 1)[1])
    assert told["map:0"]["cluster"] == told["map:2"]["cluster"]
    assert told["map:2"]["task"] == {"type": "map", "index": 2}
    assert len(set(told["map:0"]["cluster"]["map"])) == 4


def test_who_comes_back_is_another_attempt_and_no_restart(here):
    roles = "{files: 1, map: {count: 2, min: 1, restart: {on: [SIGKILL], attempts: 1}}}"
    here.millrace("submit", here.job(COUNTS, roles))
    wait_for_mappers(here, [0, 1])
    assert here.millrace("scale", "words", "map=1")[0] == 0
    here.wait_until(lambda: re.search(r"map:1 .* scaled down", status(here)), "it is gone")
    assert here.millrace("scale", "words", "map=2") == (0, "map: 1 -> 2 tasks\n")
    wait_for_mappers(here, [0, 1])
    (here.folder / "go").touch()
    code, output = here.millrace("wait", "words")
    assert code == 0 and "attempt 1: scaled down" in output, output
    [verdict] = re.findall(r"^job .*", output, re.MULTILINE)
    assert "restart" not in verdict, output
    shown = here.millrace("logs", "words", "map:1")[1]
    assert "| up 1\n" in shown and "| up 2\n" in shown and shown.count("counted") == 1, shown


def test_who_does_not_go_is_killed_after_the_grace_and_the_job_goes_on(here):
    stays = "trap '' TERM; " + COUNTS
    here.millrace("submit", here.job(stays, ROLES))
    wait_for_mappers(here, [0, 1])
    assert here.millrace("scale", "words", "map=1")[0] == 0
    wait_for_mappers(here, [0])
    (here.folder / "go").touch()
    code, output = here.millrace("wait", "words")
    assert code == 0 and "scaled down (SIGKILL was needed)" in output, output


def test_when_those_that_are_left_have_succeeded_so_has_the_job(here):
    script = HELPERS_WAIT + "[ {task_index} = 0 ] && exit 0; exec sleep 600"
    here.millrace("submit", here.job(script, ROLES))
    here.wait_until(lambda: re.search(r"map:0 .* completed", status(here)), "the first is done")
    assert here.millrace("scale", "words", "map=1")[0] == 0
    code, output = here.millrace("wait", "words")
    assert code == 0 and re.search(r"map:1 +scaled down", output), output


def test_what_can_not_be_is_refused_with_why_and_what_to_do(here):
    here.millrace("submit", here.job(COUNTS, ROLES))
    wait_for_mappers(here, [0, 1])
    for words, code, told in [
        (
            ["words", "map=5"],
            2,
            "role map may have 1 to 4 tasks, as its job file says, and not 5",
        ),
        (["words", "files=2"], 2, "submit it with  files: {count: 1, max: 2}"),
        (["words", "mab=2"], 2, "did you mean 'map'?"),
        (["words", "map=0"], 2, "`millrace stop` ends the whole job"),
        (["words", "map"], 2, "write ROLE=COUNT"),
        (["words", "map=3", "map=4"], 2, "role map is given twice"),
        (["words", "map=3", "files=2"], 2, "neither min nor max"),
        (["nobody", "map=3"], 1, "there is no job 'nobody'"),
    ]:
        done, output = here.millrace("scale", *words)
        assert done == code and told in output, (words, output)
    assert mappers(here) == [0, 1], "nothing of a wish is done that can't be fulfilled"
    (here.folder / "go").touch()
    assert here.millrace("wait", "words")[0] == 0
    code, output = here.millrace("scale", "words", "map=3")
    assert code == 1 and "only a job that runs can be scaled; words: succeeded" in output, output


def test_lines_that_are_no_wishes_do_the_launcher_no_harm(here):
    here.millrace("submit", here.job(COUNTS, ROLES))
    wait_for_mappers(here, [0, 1])
    kept = here.folder / "kept" / "local" / "words"
    with open(kept / "wishes", "a") as wishes:
        wishes.write("\n{}\n[1]\n" + "x" * 100_000 + '\n{"wish":"1","counts":{"map":-3}}\n')
        wishes.write('{"wish":"2","by":"somebody","counts":{"map":4000}}\n')
        wishes.write('{"wish":"3","by":"somebody","counts":{"map":3}}\n')
    wait_for_mappers(here, [0, 1, 2])
    journal = (kept / "journal").read_text().splitlines()
    refused = [line for line in map(json.loads, journal) if "refused" in line]
    assert [line["wish"] for line in refused] == ["2"], refused
    assert "may have 1 to 4 tasks" in refused[0]["refused"]


def test_a_job_that_is_run_has_as_many_tasks_as_it_begins_with(here, run):
    script = HELPERS_WAIT + 'echo "$TF_CONFIG"'
    done = run(here.job(script, ROLES), sh=script)
    assert done.returncode == 0 and "map:2" not in done.stdout, done.stdout
    line = re.search(r"map:0 +\| (.*)", done.stdout).group(1)
    assert len(json.loads(line)["cluster"]["map"]) == 2


SESSION = """
import sys
import millrace as tf

session = tf.Session(sys.argv[1])
with tf.device("/job:files/task:0"):
    here = tf.constant(20)
with tf.device(sys.argv[2]):
    there = here + 22
with tf.device("/job:files/task:0"):
    back = tf.identity(there)
print(len(session.list_devices()), session.run(back))
"""


def test_a_session_is_made_with_those_that_are_there_and_reaches_those_that_came(here):
    (here.folder / "words.yaml").write_text(
        f"name: words\ncommand: {here.command} serve\nroles: {ROLES}\nuntil: map\n"
    )
    here.millrace("submit", "words.yaml")

    def session_with(task):
        shows = 'echo "$TF_CONFIG"'
        code, config = here.millrace("exec", "words", "map:0", "--", "sh", "-c", shows)
        assert code == 0, config
        target = "grpc://" + json.loads(config)["cluster"]["map"][0]
        done = subprocess.run(
            [sys.executable, "-c", SESSION, target, f"/job:map/task:{task}"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout.strip() or done.stderr

    here.wait_until(lambda: "3 of 3 tasks run" in status(here), "all three run")
    assert session_with(1) == "3 42"
    assert here.millrace("scale", "words", "map=4")[0] == 0
    here.wait_until(lambda: "5 of 5 tasks run" in status(here), "all five run")
    # A new one that does not serve yet is not waited for while the others may not know of it.
    here.wait_until(lambda: session_with(3) == "5 42", "the last one takes part")
    assert here.millrace("scale", "words", "map=1")[0] == 0
    here.wait_until(lambda: "2 of 2 tasks run" in status(here), "one mapper is left")
    assert session_with(0) == "2 42"


PROGRAM = """
import os, time
import millrace as tf

config = tf.contrib.learn.RunConfig()
server = tf.train.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
session = tf.Session(server.target)
with tf.device("/job:files/task:0"):
    numbers = tf.FIFOQueue(100, [tf.int32], shared_name="numbers")
with tf.device("/job:reduce/task:0"):
    total = tf.Variable(0, name="total")
if config.task_type == "files":
    number = tf.placeholder(tf.int32)
    put = numbers.enqueue(number)
    for i in range(1, 41):
        session.run(put, {number: i})
    session.run(numbers.close())
    server.join()
if config.task_type == "reduce":
    session.run(tf.global_variables_initializer())
    server.join()
take = numbers.dequeue()
taken = tf.placeholder(tf.int32)
add = tf.assign_add(total, taken, use_locking=True)
ready = tf.report_uninitialized_variables()
while len(session.run(ready)):
    time.sleep(0.02)
while True:
    try:
        value = session.run(take)
    except tf.errors.OutOfRangeError:
        break
    print("has", value, flush=True)
    while not os.path.exists("go"):
        time.sleep(0.02)
    session.run(add, {taken: value})
print("total", session.run(total), flush=True)
"""


def test_a_count_is_right_though_its_mappers_become_four_and_then_one(here):
    """A server of ours waits for no absent task, and those that come later take part. What a task held
    that went is somebody else's."""
    (here.folder / "count.py").write_text(PROGRAM)
    (here.folder / "words.yaml").write_text(
        f"name: words\ncommand: {sys.executable} count.py\nuntil: map\nonce: true\n"
        "roles: {files: 1, reduce: 1, map: {count: 2, max: 4}}\n"
        "env: {MILLRACE_ONCE_LEASE_MS: 1000}\n"
    )
    here.millrace("submit", "words.yaml")

    def holds_one(numbers):
        logs = [here.millrace("logs", "words", f"map:{number}")[1] for number in numbers]
        return all("| has " in log for log in logs)

    here.wait_until(lambda: holds_one([0, 1]), "two mappers have a number each")
    assert here.millrace("scale", "words", "map=4")[0] == 0
    here.wait_until(lambda: holds_one([2, 3]), "so have the new ones")
    assert here.millrace("scale", "words", "map=1")[0] == 0
    here.wait_until(lambda: "3 of 3 tasks run" in status(here), "one mapper is left")
    (here.folder / "go").touch()
    code, output = here.millrace("wait", "words")
    assert code == 0, output
    assert f"| total {sum(range(1, 41))}\n" in here.millrace("logs", "words", "map:0")[1]

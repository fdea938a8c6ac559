"""What a program sees of a task that the launcher starts again."""

import re

PROGRAM = """
import json, os, signal
import millrace as tf

config = json.loads(os.environ["TF_CONFIG"])
job = config["task"]["type"]
if job == "ps":
    # Before it serves: who has a session with it may read this.
    with open(os.environ["PS"] + os.environ["MILLRACE_ATTEMPT"], "w") as file:
        file.write(str(os.getpid()))
server = tf.train.Server(config["cluster"], job_name=job, task_index=0)
if job == "ps":
    server.join()
with tf.device("/job:ps/task:0"):
    value = tf.Variable(41)
    more = value.assign_add(1)
    # Nothing is ever in it: a step that the death of its task has to end.
    never = tf.FIFOQueue(1, tf.int32).dequeue()

with tf.Session(server.target) as session:
    session.run(value.initializer)
    print("first", session.run(more))
    os.kill(int(open(os.environ["PS"] + "1").read()), signal.SIGKILL)
    try:
        session.run(never)
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        print("ended by", type(error).__name__, str(error).replace(chr(10), " "))
with tf.Session(server.target) as session:
    session.run(value.initializer)
    print("second", session.run(more))
"""


def test_a_step_is_aborted_with_the_task_as_cause_and_the_next_session_finds_it_again(
    launch, python, tmp_path
):
    done = launch(
        ["--job", "ps=1", "--job", "worker=1", "--restart", "ps=3", "--env", f"PS={tmp_path}/ps"],
        [python, "-c", PROGRAM],
    )
    assert done.code == 0, done.output
    assert re.search(r"first 42\n", done.output)
    assert re.search(r"ended by \w+ .*/job:ps/replica:0/task:0", done.output), done.output
    assert re.search(r"second 42\n", done.output)
    assert "ps:0: killed by SIGKILL (signal 9); starts again in" in done.output
    assert "with 1 restart" in done.output

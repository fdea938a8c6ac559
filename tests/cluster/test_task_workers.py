"""The task queue with processes of its own: workers that are killed, stopped, and come and go."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from bounds import DEADLINE, ROOT
from millrace import tasks


class Workers:
    """A broker, workers that the test starts and kills, and an App that sends to them."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        self.broker = cluster.serve("broker")
        self.address = cluster.address("broker")
        self.app = tasks.App(f"grpc://{self.address}", lease=1.0, patience=DEADLINE)

    def start(self, *flags):
        paths = [str(ROOT / "tests" / "cluster"), os.environ.get("PYTHONPATH", "")]
        worker = self.cluster.start(
            "worker",
            0,
            [sys.executable, "-m", "millrace.tasks", "work", "task_functions:app", *flags],
            PYTHONPATH=os.pathsep.join(paths),
            TASKS_BROKER=self.address,
            TASKS_FOLDER=str(self.folder),
        )
        worker.wait_for("works on")
        return worker

    def wait_for(self, name):
        end = time.monotonic() + DEADLINE
        while not (self.folder / name).exists():
            assert time.monotonic() < end, f"no {name}"
            time.sleep(0.01)

    def command(self, *words):
        """(exit code, output) of the command line."""
        done = subprocess.run(
            [sys.executable, "-m", "millrace.tasks", *words, "--broker", self.address],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def workers(cluster, tmp_path):
    made = Workers(cluster(broker=1), tmp_path)
    yield made
    made.app.close()


def test_a_call_whose_worker_is_killed_is_run_again_by_another(workers):
    first = workers.start()
    result = workers.app.send("hold", ["go"])
    workers.wait_for("go.begun1")
    assert result.state == "STARTED"
    first.signal(signal.SIGKILL)
    first.wait()
    workers.start()
    assert result.get(DEADLINE) == 2


def test_a_call_that_kills_its_workers_ends_and_says_so(workers):
    result = workers.app.send("die")
    for _ in range(2):
        assert workers.start().wait() == -signal.SIGKILL
    workers.start()
    with pytest.raises(tasks.TaskError, match="2 workers that had it died") as raised:
        result.get(DEADLINE)
    assert raised.value.state == "DEAD"


def test_a_worker_that_is_asked_to_stop_finishes_its_call(workers):
    worker = workers.start("--grace", str(DEADLINE))
    result = workers.app.send("hold", ["go"])
    workers.wait_for("go.begun1")
    worker.signal(signal.SIGTERM)
    (workers.folder / "go").touch()
    assert worker.wait() == 0, worker.output()
    assert result.get(DEADLINE) == 1
    assert "is done" in worker.output()


def test_a_call_that_takes_too_long_then_is_given_back(workers):
    worker = workers.start("--grace", "0")
    result = workers.app.send("hold", ["go"])
    workers.wait_for("go.begun1")
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0, worker.output()
    assert "gives back a call" in worker.output()
    workers.start()
    assert result.get(DEADLINE) == 2


def test_a_worker_that_was_stopped_for_too_long_changes_nothing_and_goes_on(workers):
    stopped = workers.start()
    held = tasks.Signature(workers.app, "hold", ("go",))
    chain = tasks.Chain(held, tasks.Signature(workers.app, "add", (10,)))
    result = chain.send()
    workers.wait_for("go.begun1")
    stopped.signal(signal.SIGSTOP)
    other = workers.start()
    assert result.get(DEADLINE) == 12
    other.signal(signal.SIGKILL)
    other.wait()
    (workers.folder / "go").touch()
    stopped.signal(signal.SIGCONT)
    # It takes this one when it is through with the first, which is another's by now.
    assert workers.app.send("add", [1, 2]).get(DEADLINE) == 3
    assert result.get(DEADLINE) == 12
    assert workers.app.broker.sizes()[0] == 0  # nothing follows twice


def test_all_calls_have_their_results_while_workers_are_killed(workers):
    seed = random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    group = tasks.Group(tasks.Signature(workers.app, "add", (i, i)) for i in range(400))
    running = [workers.start("--threads", "2") for _ in range(2)]
    sent = group.send()
    for _ in range(3):
        struck = draw.randrange(len(running))
        running[struck].signal(signal.SIGKILL)
        running[struck].wait()
        running[struck] = workers.start("--threads", "2")
    assert sent.get(DEADLINE) == [2 * i for i in range(400)]


def test_workers_wait_for_a_broker_that_comes_back(workers):
    worker = workers.start()
    assert workers.app.send("add", [1, 2]).get(DEADLINE) == 3
    workers.broker.signal(signal.SIGKILL)
    workers.broker.wait()
    worker.wait_for("tries again")
    workers.cluster.serve("broker")
    workers.app.close()
    assert workers.app.send("add", [3, 4]).get(DEADLINE) == 7


def test_the_command_line_lists_shows_and_revokes(workers):
    workers.start()
    done = workers.app.send("add", [1, 2])
    assert done.get(DEADLINE) == 3
    waiting = workers.app.send("add", [1, 2], countdown=1000)
    code, output = workers.command("ls")
    assert code == 0 and re.search(rf"{waiting.id}  WAITING  add", output), output
    assert "1 of 2 calls" in workers.command("ls", "--state", "SUCCESS")[1]
    code, output = workers.command("inspect", done.id)
    assert code == 0 and re.search(r"value: +3\n", output), output
    code, output = workers.command("revoke", waiting.id)
    assert code == 0 and waiting.state == "REVOKED", output
    code, output = workers.command("revoke", done.id)
    assert code == 1 and "has ended as SUCCESS" in output, output
    assert workers.command("inspect", "12")[0] == 1
    assert workers.command("inspect", "no id")[0] == 2

"""The client of TensorFlow 1.15, under a Python of its time, trains on Millrace's servers."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

from old_client_program import POINTS, RATE
from tasks import ROOT, Zygote

FOUND = subprocess.run(
    [ROOT / "tools" / "tensorflow", "--old", "--check"], capture_output=True, text=True
)
PROGRAM = pathlib.Path(__file__).with_name("old_client_program.py")
SAMPLES = pathlib.Path(__file__).parent / "judge" / "samples"

pytestmark = pytest.mark.skipif(FOUND.returncode != 0, reason=FOUND.stderr.strip())


@pytest.fixture(scope="module")
def old_zygote(tmp_path_factory):
    with Zygote(tmp_path_factory.mktemp("old"), python=FOUND.stdout.strip()) as started:
        yield started


@pytest.fixture
def begin(old_zygote, tmp_path):
    """begin(story, ...) -> a call that waits for what the story gives; it runs in a process of its own."""
    clients = []

    def start(story, tf_config=(), **arguments):
        log = tmp_path / f"client_{len(clients)}.log"
        client = old_zygote.run([PROGRAM, story, json.dumps(arguments)], dict(tf_config), log)
        clients.append(client)

        def result():
            assert client.wait() == 0, client.output()
            return json.loads(client.output().splitlines()[-1])

        return result

    yield start
    for each in clients:
        each.kill()


@pytest.fixture
def three(cluster):
    return cluster(ps=1, worker=2)


@pytest.fixture
def meeting(tmp_path):
    """A folder where two workers look for each other."""
    made = tmp_path / "meeting"
    made.mkdir()
    return made


def workers(three):
    """What a story of one of the workers takes."""
    targets = [three.target("worker:0"), three.target("worker:1")]
    return {"addresses": three.spec(), "targets": targets}


def descended(steps):
    """The line after steps of gradient descent from (0, 0)."""
    slope = offset = 0.0
    for _ in range(steps):
        wrong = (slope - 3) * POINTS + offset - 2
        slope, offset = slope - RATE * 2 * (wrong * POINTS).mean(), offset - RATE * 2 * wrong.mean()
    return [slope, offset]


def test_the_old_client_is_of_tensorflow_1(old_zygote, tmp_path):
    program = tmp_path / "version.py"
    program.write_text("import sys, tensorflow as tf\nprint(sys.version_info[:2], tf.__version__)")
    client = old_zygote.run([program], {}, tmp_path / "version.log")
    assert client.wait() == 0
    assert client.output().splitlines()[-1] == "(3, 7) 1.15.5"


def test_two_workers_train_each_at_its_own_pace(three, begin, meeting):
    given = dict(workers(three), folder=str(meeting), steps=60)
    results = [call() for call in [begin("train", index=i, **given) for i in (0, 1)]]
    assert max(each["global_step"] for each in results) == 120
    assert max(each["losses"][0] for each in results) > 1
    for each in results:
        assert each["line"] == pytest.approx([3, 2], abs=0.1)
        assert each["losses"][-1] < 0.01
        assert each["devices"] == ["/job:ps/task:0", "/job:ps/task:0"]


def test_two_workers_train_in_step_as_one_would_alone(three, begin, meeting):
    given = dict(workers(three), folder=str(meeting), steps=20)
    results = [call() for call in [begin("train_together", index=i, **given) for i in (0, 1)]]
    for each in results:
        assert each["global_step"] == 20
        assert each["line"] == pytest.approx(descended(20), rel=1e-5)


def test_training_goes_on_from_its_checkpoint_on_fresh_servers(cluster, begin, tmp_path):
    folders = {name: str(tmp_path / name) for name in ("at_once", "in_two_parts")}

    def trained(folder, last_step):
        fresh = cluster(ps=1, worker=1)
        given = {"addresses": fresh.spec(), "targets": [fresh.target("worker")]}
        return begin("train_and_save", folder=folders[folder], last_step=last_step, **given)()

    at_once = trained("at_once", 9)
    first, second = trained("in_two_parts", 5), trained("in_two_parts", 9)
    assert (at_once["began"], first["began"], second["began"]) == (0, 0, 5)
    assert first["line"] != pytest.approx(at_once["line"])
    assert second["line"] == pytest.approx(at_once["line"])
    assert second["saved"] == pytest.approx(at_once["saved"])
    assert second["saved"][:2] == second["line"]


def test_a_queue_hands_over_what_one_client_makes_to_another_in_order(three, begin):
    consumer = begin("consume", target=three.target("worker:1"))
    begin("produce", target=three.target("worker:0"), count=20)()
    assert consumer()["taken"] == [[i, i * i, str(i)] for i in range(20)]


@pytest.mark.parametrize("functional", [False, True])
def test_a_loop_across_tasks_and_its_gradients_are_right(three, begin, functional):
    found = begin("loop", target=three.target("worker:0"), functional=functional)()
    for turns in (0, 1, 5):
        power = np.polynomial.Polynomial([0] * turns + [1])
        derivatives = [power(2), power.deriv(1)(2), power.deriv(2)(2)]
        assert found[str(turns)] == pytest.approx(derivatives[: 3 if functional else 2])


def test_failures_arrive_with_their_class_and_node(three, begin):
    found = begin("errors", target=three.target("worker:0"))()
    assert found == {
        "the end of a queue": ["OutOfRangeError", "take", 11],
        "a placeholder without a value": ["InvalidArgumentError", "value", 3],
        "a shape that does not fit": ["InvalidArgumentError", "reshape", 3],
        "a variable without a value": ["FailedPreconditionError", "unset/read", 9],
        "no number": ["InvalidArgumentError", "check", 3],
        "a file that is not there": ["NotFoundError", "read", 5],
        "after them": 7,
    }


def test_a_keras_model_learns_on_a_server_what_it_learns_in_the_client(begin, target):
    here, there = [call() for call in (begin("fit", target=""), begin("fit", target=target))]
    for figures in ("losses", "evaluated", "predicted"):
        assert there[figures] == pytest.approx(here[figures], rel=1e-3), figures
    assert there["losses"][-1] < 0.5 * there["losses"][0]


def test_an_estimator_trains_on_the_servers_of_its_cluster(cluster, begin, tmp_path):
    two = cluster(ps=1, chief=1)
    chief = {
        "cluster": two.spec(),
        "task": {"type": "chief", "index": 0},
        "environment": "google",  # where an estimator leaves it to others to start servers
    }
    found = begin("estimate", tf_config=chief, folder=str(tmp_path / "model"))()
    assert found["master"] == two.target("chief")
    assert found["global_step"] == 200
    assert found["line"] == pytest.approx([3, 2], abs=0.05)
    assert found["loss"] < 1e-3


def test_the_judge_tries_modules_of_its_time():
    judge = pathlib.Path(__file__).with_name("run_tf_module")
    done = subprocess.run(
        [judge, "--old", "--filter", "Servers.*_a_*", SAMPLES / "servers_sample.py"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed " in done.stdout

"""Jobs on a real YARN that wants every message of Hadoop's RPC proved, or encrypted
(hadoop.rpc.protection); tools/yarn-cluster runs it on this machine."""

import pytest

from managed import HELPERS_WAIT, count_words, fail_with_last_words, own_lines
from yarn_queue import Queue, running_yarn


@pytest.fixture(scope="module", params=["integrity", "privacy"])
def yarn(request):
    with running_yarn(options=("--protection", request.param)) as environment:
        yield environment


@pytest.fixture
def queue(yarn, tmp_path):
    queue = Queue("yarn", yarn, tmp_path)
    yield queue
    queue.end_all()


def test_word_count_is_exact_and_every_task_is_heard(queue):
    count_words(queue, queue.texts())
    assert queue.ended_application()["diagnostics"].startswith("job succeeded in ")


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(queue):
    fail_with_last_words(queue)
    assert "map:1: exit code 3" in queue.ended_application()["diagnostics"]


def test_stop_ends_the_tasks_and_leaves_nothing(queue):
    queue.millrace("submit", queue.job(HELPERS_WAIT + "echo up; exec sleep 600"))
    queue.wait_for_tasks()
    code, output = queue.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert queue.left() == ([], [])
    assert own_lines((queue.folder / "saved" / "map_1.log").read_text()) == ["up"]

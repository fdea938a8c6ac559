"""Word count over processes: the total is right, each file counts once, every process ends."""

import itertools
import re

import pytest

from bounds import ROOT

PROGRAM = ROOT / "examples" / "word_count.py"


def jobs(mappers):
    return ["--job", "files=1", "--job", "reduce=1", "--job", f"map={mappers}", "--until", "map"]


@pytest.mark.parametrize("mappers", [1, 2, 8])
def test_the_total_is_exact_whatever_the_number_of_mappers(launch, texts, python, mappers):
    done = launch(jobs(mappers), [python, PROGRAM, "--texts", texts.list_file])
    assert done.code == 0, done.output
    assert done.total() == texts.words


@pytest.fixture
def cpp_program():
    program = ROOT / "build" / "bin" / "word_count"
    if not program.exists():
        pytest.skip(f"{program} is missing: build the examples (make build)")
    return program


@pytest.mark.parametrize("mappers", [1, 2, 8])
def test_the_cpp_program_counts_the_same(launch, texts, cpp_program, mappers):
    done = launch(jobs(mappers), [cpp_program, texts.list_file])
    assert done.code == 0, done.output
    assert done.total() == texts.words


@pytest.mark.parametrize("missing", ["list", "text"])
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_input_that_is_missing_fails_the_job_with_its_name(
    launch, texts, python, request, language, missing
):
    if missing == "list":
        texts.list_file.unlink()
    else:
        texts.files[3].unlink()
    command = [python, PROGRAM, "--texts"]
    if language == "cpp":
        command = [request.getfixturevalue("cpp_program")]
    done = launch(jobs(2), [*command, texts.list_file])
    assert done.code == 1, done.output
    culprit = texts.list_file if missing == "list" else texts.files[3]
    assert re.search(rf"last error: .*{culprit}", done.output), done.output
    assert "total:" not in done.output


def test_every_process_ends_by_itself_and_its_reason_is_reported(launch, texts, python):
    done = launch(jobs(2), [python, PROGRAM, "--texts", texts.list_file])
    for task in ["map:0", "map:1"]:
        assert re.search(rf"{task}\b.*completed", done.output), done.output
    for task in ["files:0", "reduce:0"]:
        assert re.search(rf"{task}\b.*(completed|job finished)", done.output), done.output


def test_each_file_is_counted_once(launch, texts, python):
    done = launch(jobs(2), [python, PROGRAM, "--texts", texts.list_file])
    counted = re.findall(r"words in (\S+)", done.output)
    assert sorted(counted) == sorted(str(f) for f in texts.files)


# The four processes in every order; starting them one after the other is what makes an order.
ORDERS = list(itertools.permutations([("files", 0), ("reduce", 0), ("map", 0), ("map", 1)]))


@pytest.mark.parametrize("order", ORDERS[::5], ids=lambda o: "-".join(f"{j}{i}" for j, i in o))
def test_any_start_order_converges(cluster, texts, python, order):
    spec = cluster(files=1, reduce=1, map=2)
    tasks = {}
    for job, index in order:
        tasks[job, index] = spec.start(job, index, [python, PROGRAM, "--texts", texts.list_file])
    mappers = [tasks["map", 0], tasks["map", 1]]
    assert [m.wait() for m in mappers] == [0, 0], "\n".join(m.output() for m in mappers)
    output = "\n".join(t.output() for t in tasks.values())
    assert re.findall(r"total: (\d+) words", output) == [str(texts.words)], output


def test_an_uncaught_end_of_the_queue_is_reported_as_input_exhausted(launch, texts, python):
    done = launch(jobs(1), [python, PROGRAM, "--texts", texts.list_file, "--uncaught-end"])
    assert "input exhausted" in done.output
    assert "OutOfRangeError" in done.output

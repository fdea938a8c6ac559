"""MapReduce over processes that die, stop and come back: totals are exact, and the output is whole or not there.

In both languages; they have the same ways to die, and say the same.
"""

import collections
import os
import re
import subprocess

import pytest

from bounds import DEADLINE, ROOT

PROGRAM = ROOT / "tests" / "cluster" / "counting_job.py"
TWIN = ROOT / "build" / "test-bin" / "counting_job"
TASKS = ["--job", "files=1", "--job", "map=2", "--job", "reduce=2"]
AGAIN = ["--until", "files", "--restart", "map=100", "--restart", "reduce=100"]


@pytest.fixture(params=["python", "cpp"])
def count(request, launch, python, tmp_path):
    """count(way, ..., flags=...) -> Finished; `count.texts`, `count.output`, `count.expected`."""
    program = [python, PROGRAM] if request.param == "python" else [TWIN]
    if request.param == "cpp" and not TWIN.exists():
        pytest.skip(f"{TWIN} is missing: build the tests (make build)")
    texts, marks, output = (tmp_path / name for name in ("texts", "marks", "counts"))
    texts.mkdir()
    marks.mkdir()
    expected = collections.Counter()
    for name in "abc":
        lines = [f"{i} to be or not to be and so on {i % 7}\n" for i in range(200)]
        expected.update(" ".join(lines).split())
        (texts / f"{name}.txt").write_text("".join(lines))

    def run(*ways, flags=(*TASKS, *AGAIN)):
        return launch([*flags], [*program, texts / "*.txt", output, marks, *ways])

    run.output, run.expected, run.folder = output, expected, tmp_path
    return run


def counted(folder):
    found = {}
    for path in sorted(folder.glob("part-*.txt")):
        for line in path.read_text().splitlines():
            word, number = line.split("\t")
            assert word not in found, f"{word} is there twice"
            found[word] = int(number)
    return found


def check_whole(count, done):
    assert done.code == 0, done.output
    assert counted(count.output) == count.expected
    # Attempts that did not count have not counted lines or words either.
    assert f"lines 600 words {len(count.expected)}" in done.output, done.output
    names = sorted(os.listdir(count.output))
    assert names == ["_counters.json", "part-00000-of-00002.txt", "part-00001-of-00002.txt"]
    check_nothing_is_left(count)


def check_nothing_is_left(count):
    assert not [name for name in os.listdir(count.folder) if "unfinished" in name]


def test_words_are_counted_by_all_tasks(count):
    done = count()
    check_whole(count, done)
    assert "restart" not in done.output, done.output


def test_without_until_every_task_ends_by_itself(count):
    check_whole(count, count(flags=TASKS))


def test_workers_map_and_reduce(count):
    # By default the job ends with its workers, maybe before files has told what was counted.
    flags = ["--job", "files=1", "--job", "worker=2", "--until", "files"]
    check_whole(count, count(flags=flags))


@pytest.mark.parametrize(
    "ways, deaths",
    [(["dies_mapping"], 2), (["dies_reducing"], 1)],
    ids=lambda way: way[0] if isinstance(way, list) else "",
)
def test_tasks_that_are_killed_at_work_lose_and_double_nothing(count, ways, deaths):
    done = count(*ways)
    check_whole(count, done)
    assert done.output.count("SIGKILL") >= deaths, done.output


# In C++ the moment can't be met from outside: mapreduce/shared_queues_test.cc has it.
@pytest.mark.parametrize("count", ["python"], indirect=True)
def test_tasks_that_are_killed_between_report_and_acknowledgement_double_nothing(count):
    done = count("dies_after_its_report", "dies_mapping", "dies_reducing")
    check_whole(count, done)
    marks = sorted(os.listdir(count.folder / "marks"))
    assert sum(mark.startswith("ack-") for mark in marks) >= 2, marks
    assert {"map-37", "map-190", "reduce"} <= set(marks)


def test_a_mapper_that_sleeps_beyond_its_lease_and_wakes_up_doubles_nothing(count):
    done = count("stops")
    check_whole(count, done)
    assert sorted(os.listdir(count.folder / "marks")) == ["stopped", "woken"]


@pytest.mark.parametrize("keeps", [False, True], ids=["", "state"])
@pytest.mark.parametrize("way", ["dies_owning", "dies_owning_late"])
def test_a_job_whose_owner_is_killed_begins_anew_if_all_are_started_again(count, way, keeps):
    """Also if its tasks keep their state: queues of the life before are of work that nobody knows."""
    # While others reduce, tasks of `map` have ended well, and are not started again.
    tasks = ["--job", "files=1", "--job", "worker=2", "--until", "files", "--restart", "worker=100"]
    state = ["--state", str(count.folder / "state")] if keeps else []
    done = count(way, flags=[*tasks, "--restart", "files=100", *state])
    assert done.code == 0, done.output
    assert counted(count.output) == count.expected
    assert f"lines 600 words {len(count.expected)}" in done.output, done.output
    assert re.search(
        r"counts\.unfinished-\w+ is of a job that was killed or still runs", done.output
    )


@pytest.mark.parametrize("roles", [TASKS, ["--job", "files=1", "--job", "worker=2"]])
def test_what_a_slow_task_has_is_done_by_another_as_well(count, roles):
    done = count("hangs", flags=[*roles, "--until", "files"])
    check_whole(count, done)
    assert re.search(r"mapping \S+ from \d+ takes long: another task does it as well", done.output)


def test_a_piece_that_kills_whoever_takes_it_ends_the_job_with_its_name(count):
    done = count("always_dies")
    assert done.code == 1, done.output
    said = r"(MapReduceError|ABORTED): mapping \S+[abc]\.txt from \d+ was given up after 3 attempts"
    assert re.search(said, done.output), done.output
    assert not count.output.exists()
    check_nothing_is_left(count)


def test_a_job_that_fails_ends_with_its_reason_and_publishes_nothing(count):
    done = count("raises")
    assert done.code == 1, done.output
    said = (
        r"[abc]\.txt at \d+: (ValueError|INVALID_ARGUMENT): not this one.*"
        r"the record is '37 to be.*max_bad=0 allows 0"
    )
    assert re.search(said, done.output), done.output
    assert not count.output.exists()
    check_nothing_is_left(count)


def test_an_output_that_is_there_ends_the_job_before_any_work(count):
    count.output.mkdir()
    (count.output / "theirs").write_text("kept")
    done = count()
    assert done.code == 1, done.output
    assert f"the output '{count.output}' is there already: remove it" in done.output, done.output
    assert (count.output / "theirs").read_text() == "kept"
    check_nothing_is_left(count)


def test_a_disk_that_takes_no_more_ends_the_job_with_words_and_without_a_trace(tmp_path):
    program = ROOT / "build" / "bin" / "sort_records"
    if not program.exists():
        pytest.skip(f"{program} is missing: build the examples (make build)")
    # A file may have 500 KB, where the first of this job would have a megabyte.
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 500; exec "$@"', "bash", program]
    command = [*limited, "--megabytes=1", f"--folder={tmp_path}/sorting"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 1, done.stdout
    said = r"RESOURCE_EXHAUSTED: (mapping|reducing) .*File too large; it writes to \S+ and \S+"
    assert re.search(said, done.stderr), done.stderr
    assert os.listdir(tmp_path / "sorting") == []


def test_progress_is_told_by_the_task_that_knows(count):
    done = count()
    assert re.search(r"files:0 .* 1 of \d+( or more)? splits mapped, \d+ records", done.output)
    assert "files:0  | 1 of 2 partitions reduced, 600 records" in done.output, done.output


@pytest.mark.parametrize(
    "flags, said",
    [
        (
            ["--job", "files=1", "--job", "map=1"],
            "nobody would reduce: the cluster has the jobs files, map",
        ),
        (["--job", "files=2", "--job", "worker=1"], "needs exactly one task of job 'files'"),
        (
            ["--job", "ps=1", "--job", "files=1", "--job", "worker=1", "--until", "ps"],
            "job 'ps' has nothing to do in a MapReduce",
        ),
    ],
)
def test_clusters_that_make_no_sense_are_refused_with_words(count, flags, said):
    done = count(flags=flags)
    assert done.code == 1 and said in done.output, done.output


def test_a_second_job_of_the_same_name_ends_with_words(launch, python, tmp_path):
    (tmp_path / "a.txt").write_text("to be or not to be\n")
    program = (
        "import sys; from millrace import mapreduce\n"
        "for made in sys.argv[2:]: mapreduce.run(sys.argv[1], lambda line: [(line, 1)], made)"
    )
    words = [python, "-c", program, tmp_path / "a.txt", tmp_path / "one", tmp_path / "two"]
    done = launch(["--job", "files=1", "--job", "worker=1", "--until", "files"], words)
    assert done.code == 1, done.output
    assert "of the name 'mapreduce' has ended here before: give each" in done.output, done.output
    assert (tmp_path / "one").exists() and not (tmp_path / "two").exists()


# ---- Results in a queue ----

INTO_QUEUE = ["--job", "files=1", "--job", "map=2", "--job", "reduce=2", "--job", "read=1"]
UNTIL_READ = ["--until", "files,read", "--restart", "map=100", "--restart", "reduce=100"]


def check_queue(count, done):
    """Each count was in the queue once, and the folder tells the rest."""
    assert done.code == 0, done.output
    read = [line.split("\t") for line in (count.folder / "marks" / "read").read_text().splitlines()]
    assert len(read) == len(count.expected), done.output
    assert {word: int(number) for word, number in read} == count.expected
    assert os.listdir(count.output) == ["_counters.json"]
    check_nothing_is_left(count)


def test_results_go_into_a_queue_each_once_and_it_is_closed(count):
    done = count("into_queue", flags=[*INTO_QUEUE, *UNTIL_READ])
    check_queue(count, done)
    assert "1 of 2 partitions put into the queue, 600 records" in done.output, done.output


def test_who_is_killed_in_the_midst_of_putting_in_loses_and_doubles_nothing(count):
    done = count("into_queue", "dies_putting", flags=[*INTO_QUEUE, *UNTIL_READ])
    check_queue(count, done)
    assert done.output.count("SIGKILL") >= 2, done.output


def test_who_sleeps_beyond_its_lease_while_putting_in_and_wakes_up_doubles_nothing(count):
    check_queue(count, count("into_queue", "stops_putting", flags=[*INTO_QUEUE, *UNTIL_READ]))


def test_a_job_that_fails_puts_nothing_into_its_queue_and_whoever_reads_hears_the_end(count):
    done = count("into_queue", "raises", flags=[*INTO_QUEUE, "--until", "files,read"])
    assert done.code == 1, done.output
    assert "not this one" in done.output and "max_bad=0 allows 0" in done.output, done.output
    assert not count.output.exists()
    check_nothing_is_left(count)


def test_a_job_whose_owner_is_killed_while_results_are_put_in_does_not_put_them_in_twice(count):
    flags = [*INTO_QUEUE, *UNTIL_READ, "--restart", "files=1"]
    done = count("into_queue", "dies_while_others_put_in", flags=flags)
    assert done.code == 1, done.output
    said = (
        r"has put some of the results into the queue: \S+counts.unfinished-\w+ is its folder; make"
    )
    assert re.search(said, done.output), done.output
    assert not count.output.exists()


@pytest.mark.parametrize(
    "job, said",
    [
        ("reed", "the cluster has no such task"),
        ("map", "would end with the job: put it on the task that reads"),
    ],
)
def test_a_queue_that_is_nowhere_or_would_not_last_is_refused(launch, python, tmp_path, job, said):
    program = (
        "import sys; from millrace import mapreduce; mapreduce.run('x', print, "
        f"mapreduce.Queue(sys.argv[1], 'q', task='/job:{job}/task:0'))"
    )
    flags = ["--job", "files=1", "--job", "worker=1", "--job", "map=1", "--until", "files"]
    done = launch(flags, [python, "-c", program, tmp_path / "made"])
    assert done.code == 1 and said in done.output, done.output

"""A word count of TensorFlow's client programs; Millrace tasks behind it, and nothing else."""

import itertools
import pathlib
import re
import time

import pytest

from tasks import DEADLINE, Cluster

PROGRAM = pathlib.Path(__file__).with_name("word_count_client.py")


class Texts:
    def __init__(self, folder):
        self.files = [folder / f"text_{i}.txt" for i in range(22)]
        self.words = 0
        for i, path in enumerate(self.files):
            count = 26 + (i * 37) % 68
            path.write_text("".join(f"word\u00e9{k}" + " \n"[k % 9 == 8] for k in range(count)))
            self.words += count
        self.list_file = folder / "filenames.txt"
        self.list_file.write_text("".join(f"{path}\n" for path in self.files))


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    return Texts(folder)


@pytest.fixture
def client(tmp_path, zygote, texts):
    """client(cluster, "map:0") -> the running client program of that task."""
    started = []
    folder = tmp_path / "clients"
    folder.mkdir()

    def start(cluster, name, *arguments):
        job, index = name.split(":")
        config = {"cluster": cluster.spec(), "task": {"type": job, "index": int(index)}}
        command = [PROGRAM, texts.list_file, *arguments]
        started.append(zygote.run(command, config, folder / f"{job}_{index}.log"))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def wait_for_total(reducer, words):
    deadline = time.monotonic() + DEADLINE
    while f"\n{words} words so far" not in "\n" + reducer.output():
        assert reducer.running(), reducer.output()
        assert time.monotonic() < deadline, f"never {words}:\n{reducer.output()[-300:]}"
        time.sleep(0.02)


def counted(mappers):
    return re.findall(r"words in (\S+)", "".join(m.output() for m in mappers))


@pytest.mark.parametrize("count", [1, 2, 8])
def test_each_file_is_counted_once_whatever_the_number_of_mappers(cluster, client, texts, count):
    tasks = cluster(files=1, reduce=1, map=count)
    reducer = client(tasks, "reduce:0")
    mappers = [client(tasks, f"map:{i}") for i in range(count)]
    assert client(tasks, "files:0").wait() == 0
    assert [m.wait() for m in mappers] == [0] * count, "".join(m.output() for m in mappers)
    wait_for_total(reducer, texts.words)
    assert sorted(counted(mappers)) == sorted(map(str, texts.files))
    totals = [int(n) for n in re.findall(r"(\d+) words so far", reducer.output())]
    assert totals == sorted(totals) and totals[-1] == texts.words


ORDERS = list(itertools.permutations(["files:0", "reduce:0", "map:0", "map:1"]))


@pytest.mark.parametrize("order", ORDERS[::7], ids="-".join)
def test_clients_and_their_tasks_may_start_in_any_order(
    tmp_path, zygote, request, client, texts, order
):
    tasks = Cluster(tmp_path, {"files": 1, "reduce": 1, "map": 2}, zygote=zygote)
    if request.config.getoption("servers") == "tensorflow":
        tasks.tensorflow = set(tasks.addresses)
    try:
        clients = {}
        for name in order:
            clients[name] = client(tasks, name)  # before its server is there
            tasks.start(name)
        mappers = [clients["map:0"], clients["map:1"]]
        assert [m.wait() for m in mappers] == [0, 0], "".join(m.output() for m in mappers)
        wait_for_total(clients["reduce:0"], texts.words)
    finally:
        tasks.stop()


def test_the_end_of_the_queue_that_nobody_catches_ends_a_mapper_with_its_name(
    cluster, client, texts
):
    tasks = cluster(files=1, reduce=1, map=1)
    client(tasks, "reduce:0")
    mapper = client(tasks, "map:0", "--uncaught-end")
    client(tasks, "files:0")
    assert mapper.wait() == 1
    assert "OutOfRangeError" in mapper.output()
    assert "is closed and has insufficient elements" in mapper.output()

"""millrace.mapreduce into a queue, in one process beside a server: what is put in, and what is not."""

import os
import pathlib
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import millrace as tf
from millrace import mapreduce
from millrace._mapreduce import pieces, queue_output, tasks
from millrace._mapreduce.outputs import Workshop


def words(line):
    return [(word, 1) for word in line.split()]


class Beside:
    """A server, texts, and what reads a queue to its end."""

    def __init__(self, folder):
        self.server = tf.train.Server.create_local_server()
        self.folder = folder
        (folder / "texts").mkdir()
        self.output = folder / "made"

    def write(self, text):
        (self.folder / "texts" / "a.txt").write_text(text)

    def queue(self, **how):
        return mapreduce.Queue(self.output, "results", target=self.server.target, **how)

    def run(self, results, **how):
        how = {"map": words, "reduce": mapreduce.add, "say": None, **how}
        return mapreduce.run(str(self.folder / "texts" / "*.txt"), how.pop("map"), results, **how)

    def read(self, results):
        with tf.Graph().as_default():
            taken = results.queue().dequeue()
            read = []
            with tf.Session(self.server.target) as session:
                while True:
                    try:
                        read.append(session.run(taken))
                    except tf.errors.OutOfRangeError:
                        return read

    def is_clean(self):
        return os.listdir(self.folder) == ["texts"]


@pytest.fixture
def beside(tmp_path):
    return Beside(tmp_path)


def test_results_are_pairs_of_strings_in_the_order_of_keys(beside):
    beside.write("to be or not to be\n")
    result = beside.run(beside.queue())
    assert beside.read(beside.queue()) == [
        [b"be", b"2"],
        [b"not", b"1"],
        [b"or", b"1"],
        [b"to", b"2"],
    ]
    assert result.files == [] and result.counters["records written"] == 4
    assert os.listdir(beside.output) == ["_counters.json"]
    assert sorted(os.listdir(beside.folder)) == ["made", "texts"]


def test_more_results_than_the_queue_holds_wait_for_who_reads(beside):
    beside.write("".join(f"{i} " for i in range(500)))
    results, read = beside.queue(capacity=3), []
    reader = threading.Thread(target=lambda: read.extend(beside.read(results)))
    reader.start()
    beside.run(results, partitions=3)
    reader.join()
    assert sorted(int(word) for word, _ in read) == list(range(500))


def test_elements_have_types_and_shapes_of_ones_own(beside):
    beside.write("a b b")
    results = beside.queue(
        dtypes=[tf.int64, tf.float32, tf.string],
        shapes=[(), (2,), (None,)],
        element=lambda word, count: (count, [count, 0.5], [word] * count),
    )
    beside.run(results)
    (one, pair, a), (two, _, b) = beside.read(results)
    assert (one, two) == (1, 2)
    np.testing.assert_array_equal(pair, np.float32([1, 0.5]))
    assert a.tolist() == [b"a"] and b.tolist() == [b"b", b"b"]


def test_numbers_for_a_string_are_written_as_str_has_them_also_those_of_numpy(beside):
    beside.write("a b b")
    beside.run(beside.queue(), reduce=lambda word, counts: np.sum(list(counts)))
    assert beside.read(beside.queue()) == [[b"a", b"1"], [b"b", b"2"]]


def test_one_component_is_taken_as_it_is(beside):
    beside.write("a b b")
    results = beside.queue(dtypes=tf.int32, element=lambda word, count: count)
    beside.run(results)
    assert beside.read(results) == [1, 2]


@pytest.mark.parametrize(
    "element, said",
    [
        (lambda word, count: ("x", "no number"), "reducing the key 'b': ValueError: .*no number"),
        (lambda word, count: (word, [1, 2]), r"a component has the shape \(2,\), where"),
        (lambda word, count: word, "has 2 components, and `element` gives 1"),
        (lambda word, count: (word, count / 4), "0.5 is no int64"),
        (lambda word, count: (word, np.uint64(2**64 - 1)), "18446744073709551615.* is no int64"),
    ],
)
def test_an_element_that_does_not_fit_ends_the_job_before_anything_is_put_in(beside, element, said):
    beside.write("b b")
    results = beside.queue(dtypes=[tf.string, tf.int64], element=element)
    with pytest.raises(mapreduce.MapReduceError, match=said):
        beside.run(results)
    assert beside.read(results) == [] and beside.is_clean()


def test_a_mapper_that_raises_leaves_the_queue_closed_and_empty(beside):
    beside.write("a")
    with pytest.raises(mapreduce.MapReduceError, match="ZeroDivisionError"):
        beside.run(beside.queue(), map=lambda line: 1 // 0)
    assert beside.read(beside.queue()) == [] and beside.is_clean()


def test_a_job_whose_output_is_there_already_leaves_its_queue_closed_too(beside):
    beside.write("a")
    beside.output.mkdir()
    (beside.output / "part").touch()
    with pytest.raises(mapreduce.MapReduceError, match="is there already"):
        beside.run(beside.queue())
    assert beside.read(beside.queue()) == []


def test_results_that_are_gone_or_damaged_end_the_job_with_words(beside, monkeypatch):
    beside.write("a b")
    real = Workshop.note_publishing

    def damage(workshop):
        (path,) = pathlib.Path(workshop.path).glob("reduce-*")
        path.write_bytes(path.read_bytes()[:-1])
        real(workshop)

    monkeypatch.setattr(Workshop, "note_publishing", damage)
    with pytest.raises(mapreduce.MapReduceError, match="reduced can't be read: .*truncated record"):
        beside.run(beside.queue())
    item = {"publish": 3, "path": str(beside.folder / "gone")}
    report = pieces.put_partition(item, put=lambda path: list(queue_output._elements(path)))
    assert "putting partition 3 into the queue: what was reduced can't be read" in report["failed"]


def test_a_queue_that_is_in_use_is_refused_and_left_as_it_is(beside):
    beside.write("a b")
    beside.run(beside.queue())
    beside.output = beside.folder / "again"
    with pytest.raises(mapreduce.MapReduceError, match="'results' of grpc.* is closed already"):
        beside.run(beside.queue())
    assert len(beside.read(beside.queue())) == 2
    other = mapreduce.Queue(beside.output, "theirs", target=beside.server.target)
    with tf.Graph().as_default():
        put = other.queue().enqueue(["theirs", "1"])
        with tf.Session(beside.server.target) as session:
            session.run(put)
    with pytest.raises(mapreduce.MapReduceError, match="has 1 elements already"):
        beside.run(other)


def test_who_closes_the_queue_ends_the_job_with_words(beside):
    beside.write("a b c d")
    results = beside.queue(capacity=1)

    def close():
        with tf.Graph().as_default():
            queue = results.queue()
            first, end = queue.dequeue(), queue.close(cancel_pending_enqueues=True)
            with tf.Session(beside.server.target) as session:
                session.run(first)
                session.run(end)

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(mapreduce.MapReduceError, match="was closed by somebody else"):
        beside.run(results)
    closer.join()
    assert beside.is_clean()


def test_a_server_that_dies_ends_the_job_with_words(beside):
    beside.write("a b c d")
    serves = "import millrace as tf; s = tf.train.Server.create_local_server(); "
    serves += "print(s.target, flush=True); s.join()"
    server = subprocess.Popen([sys.executable, "-c", serves], stdout=subprocess.PIPE, text=True)
    with server:
        target = server.stdout.readline().strip()
        results = mapreduce.Queue(beside.output, "results", target=target, capacity=1)

        def kill():
            with tf.Graph().as_default(), tf.Session(target) as session:
                session.run(results.queue().dequeue())  # there is one: the job puts in
            server.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(mapreduce.MapReduceError, match="'results' of grpc.* takes no more: "):
            beside.run(results)
        killer.join()
    assert beside.is_clean()


def test_a_job_that_was_killed_while_it_put_in_is_not_made_again_unasked(beside):
    beside.write("a")
    left = beside.folder / "made.unfinished-dead"
    left.mkdir()
    beside.run(mapreduce.TextFiles(beside.folder / "files"))
    (left / "publishing").touch()
    with pytest.raises(
        mapreduce.MapReduceError, match=f"{left} is its folder; make the queue anew"
    ):
        beside.run(beside.queue())


@pytest.mark.parametrize(
    "how, said",
    [
        ({}, "needs one of `task`"),
        ({"task": "/job:read/task:0", "target": "grpc://x:1"}, "needs one of `task`"),
        ({"task": "read"}, "task is 'read'; give one as tf.device does"),
        ({"task": "/job:read/task:0", "shapes": [()]}, "1 shapes for 2 dtypes"),
    ],
)
def test_queues_that_make_no_sense_are_refused(tmp_path, how, said):
    with pytest.raises(ValueError, match=said):
        mapreduce.Queue(tmp_path / "made", "counts", **how)


def test_a_queue_of_a_cluster_needs_one(beside):
    with pytest.raises(ValueError, match="this process is in none: give `target`"):
        beside.run(mapreduce.Queue(beside.output, "counts", task="/job:read/task:0"))


@pytest.mark.parametrize("is_done", [True, False])
def test_a_reducer_that_finds_the_reader_gone_has_done_its_work_if_all_is_put_in(is_done):
    """Between its look whether there is work and its session with the reader, others did all, and the reader ended."""
    closed = iter([False, is_done])
    here = types.SimpleNamespace(run=lambda fetch: next(closed))
    shared = types.SimpleNamespace(work={"publish": types.SimpleNamespace(is_closed="is_closed")})

    class Far:
        def results(self, target):
            raise tf.errors.InvalidArgumentError(None, None, "/job:read/task:0 had ended")

    if is_done:
        return tasks._publish(shared, Far(), here, types.SimpleNamespace(target="x"), say=None)
    with pytest.raises(tf.errors.InvalidArgumentError, match="had ended"):
        tasks._publish(shared, Far(), here, types.SimpleNamespace(target="x"), say=None)

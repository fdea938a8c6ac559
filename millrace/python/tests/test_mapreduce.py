"""millrace.mapreduce in one process: what is counted, sorted, put aside and published."""

import gc
import io
import json
import os
import random
import resource
import string
import weakref

import pytest

import millrace as tf
from millrace import mapreduce
from millrace._mapreduce import inputs
from millrace._mapreduce.gathering import Gathering
from millrace._mapreduce.totals import Totals


def words(line):
    return [(word, 1) for word in line.split()]


def write(folder, **texts):
    """Files of a folder by name, the pattern of all of them."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return str(folder / "*.txt")


def run(texts, output, **how):
    how = {"map": words, "reduce": mapreduce.add, "say": None, **how}
    return mapreduce.run(texts, how.pop("map"), str(output), **how)


def lines(result):
    """All lines of the output, in the order of its files."""
    return [
        line for path in result.files for line in open(path, encoding="utf-8").read().splitlines()
    ]


def left(output):
    """What is beside the output that is not it."""
    return [name for name in os.listdir(output.parent) if name.startswith(f"{output.name}.")]


@pytest.fixture
def output(tmp_path):
    return tmp_path / "made" / "counts"


def test_words_are_counted_in_order_and_the_folder_appears_whole(tmp_path, output):
    texts = write(tmp_path / "texts", a="to be or\nnot to be\n", b="be\n", empty="")
    result = run(texts, output)
    assert lines(result) == ["be\t3", "not\t1", "or\t1", "to\t2"]
    assert sorted(os.listdir(output)) == ["_counters.json", "part-00000-of-00001.txt"]
    assert left(output) == []
    told = json.loads((output / "_counters.json").read_text())
    assert told == result.counters
    assert told["records read"] == 3 and told["pairs mapped"] == 7 and told["keys reduced"] == 4


def text_of_many_words(seed=1, count=6000):
    choice = random.Random(seed)
    return "".join(
        f"word{choice.randrange(700)}{choice.choice(' ' * 6 + chr(10))}" for _ in range(count)
    )


def counted(*texts):
    found = {}
    for text in texts:
        for word in text.split():
            found[word] = found.get(word, 0) + 1
    return [f"{word}\t{n}" for word, n in sorted(found.items())]


@pytest.mark.parametrize("combine", [None, mapreduce.add])
@pytest.mark.parametrize("memory", [1 << 10, 1 << 14, 1 << 26])
def test_what_does_not_fit_into_memory_is_merged_from_disk(tmp_path, output, memory, combine):
    """A thousand bytes make hundreds of spills, more than are merged in one round."""
    a, b = text_of_many_words(1), text_of_many_words(2)
    texts = write(tmp_path / "texts", a=a, b=b)
    result = run(texts, output, memory=memory, combine=combine, partitions=3, spill=str(tmp_path))
    assert sorted(lines(result)) == counted(a, b)
    assert len(result.files) == 3
    assert (result.counters["spills"] > 0) == (memory < 1 << 20)
    assert (result.counters["spills"] > 64 * 3) == (memory == 1 << 10)
    assert not [name for name in os.listdir(tmp_path) if name.startswith("mapreduce-")]


@pytest.mark.parametrize("split", [1, 2, 3, 7, 64, 1000])
def test_lines_that_cross_a_border_belong_to_one_side(tmp_path, output, split):
    text = "one\n\nthree and more\r\nx\n" * 5 + "no end"
    texts = write(tmp_path / "texts", a=text)
    lines_of_text = mapreduce.Lines(texts, split=split)
    result = run(
        lines_of_text, output, map=lambda line: [(mapreduce.place().position, line)], reduce=None
    )
    expected, position = [], 0
    for line in text.split("\n"):
        expected.append(f"{position}\t{line.rstrip()}")
        position += len(line) + 1
    assert lines(result) == expected


KEYS = ["a", "b", "a b", "", b"a", 1, True, 1.0, -0.0, 0, None, ("a", 1), ("a", True)]


@pytest.mark.parametrize("memory", [256 << 20, 4000])
def test_what_is_added_by_the_quick_way_is_what_any_combiner_makes_of_it(tmp_path, output, memory):
    texts = write(tmp_path / "texts", a="\n".join(map(str, range(3000))))
    values = [1, 1, 1, 2, -3, 10**20, True, 0.5]

    def pairs(line):
        chance = random.Random(int(line))
        is_plain = int(line) % 3 == 0
        from_keys, from_values = (KEYS[:3], values[:3]) if is_plain else (KEYS, values)
        text = [(f"word {chance.randrange(500)}", 1)] * chance.randrange(3)
        return text + [(chance.choice(from_keys), chance.choice(from_values)) for _ in range(4)]

    how = {"map": pairs, "memory": memory, "partitions": 2}
    quick = run(texts, output, combine=mapreduce.add, **how)
    other = run(texts, tmp_path / "other", combine=lambda key, found: sum(found), **how)
    assert lines(quick) == lines(other)
    assert quick.counters["pairs mapped"] == other.counters["pairs mapped"]
    assert (quick.counters["spills"] > 0) == (memory == 4000)


@pytest.mark.parametrize("memory", [256 << 20, 4000])
def test_tallied_are_the_keys_that_a_mapper_gives_whatever_they_are(tmp_path, output, memory):
    texts = write(tmp_path / "texts", a="\n".join(map(str, range(3000))))

    def some(line):
        chance = random.Random(int(line))
        found = [f"word {chance.randrange(500)}"] * chance.randrange(3)
        return found if int(line) % 3 == 0 else iter(found + chance.choices(KEYS, k=4))

    how = {"memory": memory, "partitions": 2}
    tallied = run(texts, output, map=some, reduce=mapreduce.tally, **how)
    other = run(texts, tmp_path / "other", map=lambda line: [(key, 1) for key in some(line)], **how)
    assert lines(tallied) == lines(other)
    assert tallied.counters["pairs mapped"] == other.counters["pairs mapped"]


def test_totals_go_with_the_attempt_that_made_them(tmp_path):
    gathering = Gathering(1, None, mapreduce.add, 1 << 20, tmp_path)
    totals = Totals(gathering, 1 << 20, gives_keys=True)
    assert totals.taken_at_once(["a", "b", "a"]) == 3
    gone = weakref.ref(totals)
    del totals
    gc.collect()
    assert gone() is None


def test_a_combiner_beside_tally_is_refused_rather_than_left_out(tmp_path, output):
    with pytest.raises(ValueError, match="leave `combine` out"):
        run(str(tmp_path), output, map=str.split, reduce=mapreduce.tally, combine=max)


def test_a_record_whose_keys_cannot_be_tallied_costs_itself_alone(tmp_path, output):
    texts = write(tmp_path / "texts", a="good\nlist\ntext\nnone\nraises\ngood\n")

    def some(line):
        mapreduce.count("seen")
        if line == "raises":
            raise ValueError("no")
        return {"good": ["x", "y"], "list": ["x", []], "text": "xy", "none": None}[line]

    result = run(texts, output, map=some, reduce=mapreduce.tally, max_bad=3)
    assert lines(result) == ["x\t2", "y\t2"]
    assert result.counters["seen"] == 3 and result.counters["bad records"] == 3
    told = [json.loads(line)["error"] for line in open(output / "_rejected.jsonl")]
    assert "it must give keys, as a list or a generator" in told[1]


def test_values_come_in_the_order_of_the_input(tmp_path, output):
    texts = write(tmp_path / "texts", a="k 1\nk 2\nj 7\n", b="k 3\nk 4\n")
    pairs = lambda line: [tuple(line.split())]  # noqa: E731
    for memory in (1 << 10, 1 << 20):
        there = output / str(memory)
        result = run(texts, there, map=pairs, reduce=mapreduce.collect, memory=memory)
        assert lines(result) == ["j\t['7']", "k\t['1', '2', '3', '4']"]


def test_keys_of_all_kinds_are_sorted_and_told_apart(tmp_path, output):
    keys = [None, False, True, -(2**70), -256, -255, -1, 0, 1, 255, 256, 2**70]
    keys += [
        float("-inf"),
        -1.5,
        0.0,
        1.0,
        float("inf"),
        b"",
        b"\x00",
        b"\xff",
        "",
        "a",
        "a\0",
        "b",
        "\xe9",
    ]
    keys += [
        (),
        ("a",),
        ("a", 1),
        ("a", (1, b"\0\xff")),
        ("a", (2,)),
        ("a\0",),
        ("a\0", ""),
        ("b",),
    ]
    mixed = random.Random(3).sample(keys, len(keys))
    result = mapreduce.run(
        mapreduce.Items(lambda: mixed, batch=5),
        lambda key: [(key, 0)],
        mapreduce.TextFiles(output, line=lambda key, value: repr(key)),
        say=None,
    )
    assert lines(result) == [repr(key) for key in keys]


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_partition_of_ones_own_sorts_over_all_files(tmp_path, output, partitions):
    texts = write(tmp_path / "texts", a=text_of_many_words())

    def by_first_digit(word, parts):
        return int(word[4]) * parts // 10

    result = run(texts, output, partition=by_first_digit, partitions=partitions)
    assert lines(result) == counted(text_of_many_words())


def test_a_partition_that_is_none_ends_the_job(tmp_path, output):
    texts = write(tmp_path / "texts", a="x")
    with pytest.raises(
        mapreduce.MapReduceError, match="partition gives 7 for the key 'x'.* 0 to 1"
    ):
        run(texts, output, partition=lambda key, parts: 7, partitions=2)
    assert not output.exists() and left(output) == []


def test_generators_give_and_take_any_number(tmp_path, output):
    def numbers():
        yield from range(25)

    def divisors(number):
        for divisor in (2, 3):
            if number % divisor == 0:
                yield divisor, number

    def ends(key, values):
        values = list(values)
        yield values[0]
        yield values[-1]

    items = mapreduce.Items(numbers, batch=4)
    result = run(items, output, map=divisors, reduce=ends)
    assert lines(result) == ["2\t0", "2\t24", "3\t0", "3\t24"]


def test_a_reducer_need_not_take_all_values(tmp_path, output):
    texts = write(tmp_path / "texts", a="x x x y y z")
    assert lines(run(texts, output, reduce=lambda key, values: next(values))) == [
        "x\t1",
        "y\t1",
        "z\t1",
    ]
    none = run(texts, tmp_path / "none", reduce=lambda key, values: None)
    assert lines(none) == []


def test_counters_of_the_program_count_what_is_settled(tmp_path, output):
    texts = write(tmp_path / "texts", a="good\nbad\ngood\n")

    def careful(line):
        mapreduce.count("seen", 10)
        if line == "bad":
            raise ValueError("no such word")
        return [(line, 1)]

    result = run(texts, output, map=careful, max_bad=1)
    assert result.counters["seen"] == 20
    assert result.counters["bad records"] == 1


def test_counters_and_places_are_for_those_at_work():
    for call in (lambda: mapreduce.count("x"), mapreduce.place):
        with pytest.raises(
            RuntimeError, match="for mappers, combiners and reducers while a job runs"
        ):
            call()


# ---- Bad input -----------------------------------------------------------------------------------


def fails_at_1000(line):
    if line == "line 1000":
        raise KeyError("what is this")
    yield line[:4], 1


def thousands(tmp_path):
    return write(tmp_path / "texts", a="".join(f"line {i}\n" for i in range(3000)))


def test_a_mapper_that_raises_costs_one_record_which_is_kept_aside(tmp_path, output):
    result = run(thousands(tmp_path), output, map=fails_at_1000, max_bad=1)
    assert lines(result) == ["line\t2999"]
    (line,) = (output / "_rejected.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert told["path"] == str(tmp_path / "texts" / "a.txt")
    assert told["position"] == sum(len(f"line {i}\n") for i in range(1000))
    assert told["record"] == "'line 1000'"
    assert "KeyError: 'what is this' (test_mapreduce.py, line" in told["error"]


def test_one_bad_record_too_many_ends_the_job_with_its_place(tmp_path, output):
    why = r"a\.txt at 8890: KeyError: 'what is this' .*; the record is 'line 1000'\. 1 record is bad, and max_bad=0"
    with pytest.raises(mapreduce.MapReduceError, match=why):
        run(thousands(tmp_path), output, map=fails_at_1000)
    assert not output.exists() and left(output) == []


def test_bad_records_of_all_splits_count_together(tmp_path, output):
    texts = write(tmp_path / "texts", a=b"\xff\n", b=b"\xfe\n", c=b"fine\n")
    with pytest.raises(mapreduce.MapReduceError, match="2 records are bad, and max_bad=1 allows 1"):
        run(texts, output, max_bad=1)
    assert lines(run(texts, output, max_bad=2)) == ["fine\t1"]


def test_invalid_utf8_is_a_bad_line_unless_one_says_what_to_do(tmp_path, output):
    texts = write(tmp_path / "texts", a=b"good\nb\xffd\ngood\n")
    result = run(texts, output, max_bad=5)
    assert lines(result) == ["good\t2"]
    told = json.loads((output / "_rejected.jsonl").read_text())
    assert told["position"] == 5 and told["record"] == repr(b"b\xffd\n")
    assert "invalid start byte" in told["error"]
    replaced = run(mapreduce.Lines(texts, errors="replace"), tmp_path / "replaced")
    assert lines(replaced) == ["b\ufffdd\t1", "good\t2"]


def test_a_line_that_is_too_long_is_put_aside_and_what_follows_is_read(tmp_path, output):
    texts = write(tmp_path / "texts", a="a\n" + 100 * "x" + "\nb\n" + 50 * "y")
    for split in (4, 30, 1000):
        there = output / str(split)
        result = run(mapreduce.Lines(texts, longest=10, split=split), there, max_bad=2)
        assert lines(result) == ["a\t1", "b\t1"]
        told = [json.loads(line) for line in (there / "_rejected.jsonl").read_text().splitlines()]
        assert [each["position"] for each in told] == [2, 105]
        assert "a line of 101 bytes" in told[0]["error"]


class OfLargeLine(io.BytesIO):
    """Reads as a file of a line, one of 3 GB, and another; the large one is never there as a whole."""

    FIRST, SIZE, LAST = b"first\n", 3 << 30, b"\nlast\n"

    def __init__(self):
        super().__init__(self.FIRST)
        self._left = self.SIZE
        self._some = b"x" * (20 << 20)

    def read(self, size=-1):
        return super().read(size) or self.readline(size)

    def readline(self, size=-1):
        line = super().readline(size)
        if line or not self._left:
            return line
        assert 0 < size <= len(self._some), "too much of a line is asked for at once"
        size = min(size, self._left)
        self._left -= size
        if not self._left:
            self.write(self.LAST)
            self.seek(-len(self.LAST), os.SEEK_CUR)
        return self._some[:size]


def test_a_record_of_3_gb_is_one_bad_record_and_never_in_memory(tmp_path, output, monkeypatch):
    size = len(OfLargeLine.FIRST) + OfLargeLine.SIZE + len(OfLargeLine.LAST)
    with open(tmp_path / "large.txt", "wb") as file:
        file.truncate(size)
    monkeypatch.setattr(inputs, "open", lambda path, mode: OfLargeLine(), raising=False)
    large = mapreduce.Lines(str(tmp_path / "large.txt"), split=4 << 30)
    assert lines(run(large, output, max_bad=1)) == ["first\t1", "last\t1"]
    told = json.loads((output / "_rejected.jsonl").read_text())
    assert told["position"] == 6 and "a line of 3221225473 bytes" in told["error"]


def test_of_a_line_that_crosses_many_borders_each_side_reads_its_own(tmp_path, output, monkeypatch):
    """Or a line of gigabytes would be read once for each split that it covers."""
    path = tmp_path / "long.txt"
    path.write_text("a\n" + "x" * 100_000 + "\nb\n")
    sizes = []

    class Counting(io.BufferedReader):
        def readline(self, size=-1):
            line = super().readline(size)
            sizes.append(len(line))
            return line

    monkeypatch.setattr(inputs, "open", lambda path, _: Counting(io.FileIO(path)), raising=False)
    long = mapreduce.Lines(str(path), split=1000, longest=1000)
    assert lines(run(long, output, max_bad=1)) == ["a\t1", "b\t1"]
    assert sum(sizes) < 3 * 100_000


def test_a_file_that_cannot_be_read_is_a_bad_record(tmp_path, output):
    texts = write(tmp_path / "texts", a="x\n", b="x\n")
    os.symlink(tmp_path / "nowhere", tmp_path / "texts" / "c.txt")
    (tmp_path / "texts" / "d.txt").mkdir()
    with pytest.raises(
        mapreduce.MapReduceError, match=r"c\.txt at 0: FileNotFoundError.*max_bad=0"
    ):
        run(texts, output)
    result = run(texts, output, max_bad=2)
    assert lines(result) == ["x\t2"]
    told = (output / "_rejected.jsonl").read_text()
    assert "c.txt" in told and "d.txt is not a plain file" in told


def test_a_file_that_vanishes_while_the_job_runs_is_one_too(tmp_path, output):
    texts = write(tmp_path / "texts", a="x\n", b="x\n")

    def rude(line):
        (tmp_path / "texts" / "b.txt").unlink(missing_ok=True)
        return words(line)

    assert lines(run(texts, output, map=rude, max_bad=1)) == ["x\t1"]


def test_a_pattern_that_matches_nothing_ends_the_job(tmp_path, output):
    with pytest.raises(mapreduce.MapReduceError, match="no file matches the input '.*none"):
        run(str(tmp_path / "none*.txt"), output, max_bad=100)


def test_a_generator_that_raises_ends_the_job(tmp_path, output):
    def numbers():
        yield 1
        raise EOFError("no more numbers")

    why = r"the input can't be divided: EOFError: no more numbers \(test_mapreduce"
    with pytest.raises(mapreduce.MapReduceError, match=why):
        run(mapreduce.Items(numbers), output, map=lambda number: [(number, 1)])
    assert not output.exists() and left(output) == []


@pytest.mark.parametrize(
    "key, said",
    [
        ([1], r"\[1\] of type list is no key: give None, bool, int"),
        ({"a": 1}, "of type dict is no key"),
        (("a", [1]), r"\[1\] of type list is no key"),
        (float("nan"), "nan is no key"),
        (1 << 2000, "an int of 251 bytes is no key"),
    ],
)
def test_keys_that_cannot_be_keys_are_told(tmp_path, output, key, said):
    with pytest.raises(mapreduce.MapReduceError, match=rf"a\.txt at 0: .*{said}"):
        run(write(tmp_path / "texts", a="x"), output, map=lambda line: [(key, 1)])


def test_a_mapper_that_gives_no_pairs_is_told_what_it_must_give(tmp_path, output):
    texts = write(tmp_path / "texts", a="x")
    with pytest.raises(mapreduce.MapReduceError, match=r"map gives 'x'; it must give pairs"):
        run(texts, output, map=lambda line: line)


def test_a_reducer_that_raises_ends_the_job_with_its_key(tmp_path, output):
    texts = write(tmp_path / "texts", a="x y z")

    def picky(key, values):
        if key == "y":
            raise ArithmeticError("not y")
        return 1

    why = r"reducing the key 'y': ArithmeticError: not y \(test_mapreduce.py"
    with pytest.raises(mapreduce.MapReduceError, match=why):
        run(texts, output, reduce=picky)
    assert not output.exists() and left(output) == []


def test_values_that_pickle_refuses_are_told(tmp_path, output):
    texts = write(tmp_path / "texts", a="x")
    with pytest.raises(mapreduce.MapReduceError, match="mapping .*a.txt from 0: .*pickle"):
        run(texts, output, map=lambda line: [(line, lambda: 0)])


def test_an_output_that_is_there_is_not_touched(tmp_path, output):
    texts = write(tmp_path / "texts", a="x")
    output.mkdir(parents=True)
    run(texts, output)  # an empty folder is none
    with pytest.raises(
        mapreduce.MapReduceError, match="is there already: remove it, or name another"
    ):
        run(texts, output)
    assert sorted(os.listdir(output)) == ["_counters.json", "part-00000-of-00001.txt"]


def test_an_output_that_cannot_be_made_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    texts = write(tmp_path / "texts", a="x")
    with pytest.raises(
        mapreduce.MapReduceError, match="file/counts' can't be written: .*Not a directory"
    ):
        run(texts, tmp_path / "file" / "counts", map=pytest.fail)


@pytest.mark.parametrize("reduce", [mapreduce.add, None])
def test_a_full_disk_ends_the_job_and_nothing_is_half_published(tmp_path, output, reduce):
    """A limit on the size of files is what a full disk is to who writes: an error in the middle."""
    text = "".join(random.Random(5).choices(string.ascii_letters + " ", k=60000))
    texts = write(tmp_path / "texts", a=text)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, before[1]))
    try:
        with pytest.raises(
            mapreduce.MapReduceError, match="mapping .*a.txt.*File too large.*it writes to"
        ):
            run(texts, output, reduce=reduce)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not output.exists() and left(output) == []


def test_arguments_that_make_no_sense_are_refused(tmp_path, output):
    texts = write(tmp_path / "texts", a="x")
    for wrong, said in [
        ({"map": 3}, "map is 3; it must be a function"),
        ({"reduce": 3}, "reduce is 3; it must be a function or None"),
        ({"max_bad": -1}, "max_bad is -1"),
        ({"memory": 5}, "memory is 5"),
        ({"partitions": 0}, "partitions is 0"),
        ({"lease": 0}, "lease is 0"),
        ({"attempts": 0}, "attempts is 0"),
    ]:
        with pytest.raises((TypeError, ValueError), match=said):
            run(texts, output, **wrong)
    with pytest.raises(TypeError, match="give a path, a glob"):
        run([], output)
    with pytest.raises(ValueError, match="split is 0; it must be an int, at least 1"):
        mapreduce.Lines(texts, split=0)
    with pytest.raises(TypeError, match="Items takes a function"):
        mapreduce.Items([1, 2])


# ---- Records ------------------------------------------------------------------------------------


def test_records_are_read_and_written(tmp_path, output):
    path = str(tmp_path / "in.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for value in (b"b", b"a", b"b"):
            writer.write(value)
    result = mapreduce.run(
        mapreduce.Records(path),
        lambda record: [(record, 1)],
        mapreduce.RecordFiles(output, record=lambda key, value: key * value),
        reduce=mapreduce.add,
        say=None,
    )
    assert [list(tf.python_io.tf_record_iterator(file)) for file in result.files] == [[b"a", b"bb"]]


@pytest.mark.parametrize("damage", ["cut off", "changed"])
def test_a_damaged_file_of_records_is_a_bad_record_and_those_before_are_read(
    tmp_path, output, damage
):
    path = tmp_path / "in.tfrecord"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for value in (b"first", b"second"):
            writer.write(value)
    data = bytearray(path.read_bytes())
    if damage == "changed":
        data[-6] ^= 1
    path.write_bytes(data[:-1] if damage == "cut off" else data)
    result = run(mapreduce.Records(str(path)), output, map=lambda r: [(r.decode(), 1)], max_bad=1)
    assert lines(result) == ["first\t1"]
    assert result.counters["bad records"] == 1
    assert "in.tfrecord" in (output / "_rejected.jsonl").read_text()

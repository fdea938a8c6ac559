"""The parts of millrace.mapreduce that decide: the book of a job, its progress, files of sorted runs."""

import os
import shutil

import pytest

import millrace as tf
from millrace._mapreduce import runs
from millrace._mapreduce.backups import Backups
from millrace._mapreduce.ledger import Ledger, duration
from millrace._mapreduce.outputs import Workshop


def mapped(split, bad=0, **counters):
    file = f"map-{split}"
    aside = f"aside-{split}" if bad else None
    return {
        "split": split,
        "file": file,
        "segments": [[8, 1]],
        "counters": counters,
        "bad": bad,
        "aside": aside,
    }


def reduced(partition):
    return {"partition": partition, "file": f"reduce-{partition}", "counters": {}, "bad": 0}


def ledger_of(*weights, max_bad=0):
    ledger = Ledger(max_bad)
    for weight in weights:
        ledger.add_split(weight)
    ledger.all_are_found()
    return ledger


def test_a_phase_is_over_when_every_piece_is_reported():
    ledger = ledger_of(10, 10)
    ledger.add_report(mapped(1))
    assert not ledger.is_mapped
    ledger.add_report(mapped(0))
    assert ledger.is_mapped and not ledger.is_reduced
    assert ledger.plan == [("map-0", [[8, 1]]), ("map-1", [[8, 1]])]
    ledger.reduce_begins(2)
    ledger.add_report(reduced(1))
    assert not ledger.is_reduced
    ledger.add_report(reduced(0))
    assert ledger.is_reduced and ledger.parts == ["reduce-0", "reduce-1"]


def test_splits_that_are_still_being_found_keep_the_phase_open():
    ledger = Ledger(0)
    ledger.add_split(1)
    ledger.add_report(mapped(0))
    assert not ledger.is_mapped
    ledger.all_are_found()
    assert ledger.is_mapped


def test_a_second_report_of_one_piece_changes_nothing():
    ledger = ledger_of(10, max_bad=5)
    assert ledger.add_report(mapped(0, bad=2, seen=3))
    other = {**mapped(0, bad=2, seen=3), "file": "another"}
    assert not ledger.add_report(other)
    assert ledger.counters["seen"] == 3 and ledger.num_bad == 2
    assert ledger.plan == [("map-0", [[8, 1]])] and ledger.aside == ["aside-0"]


def test_bad_records_beyond_the_limit_fail_the_job_and_the_first_reason_stays():
    ledger = ledger_of(1, 1, 1, max_bad=3)
    ledger.add_report(mapped(0, bad=3))
    assert ledger.failure is None
    ledger.add_report(mapped(1, bad=1))
    assert ledger.failure == "4 records are bad, and max_bad=3 allows 3"
    ledger.add_report({"split": 2, "failed": "something else"})
    assert "4 records" in ledger.failure


def test_progress_tells_what_is_left_by_the_size_of_splits():
    ledger = ledger_of(30, 10, max_bad=9)
    assert ledger.progress(5) == "0 of 2 splits mapped, 0 records"
    ledger.add_report({**mapped(0, bad=1), "counters": {"records read": 7}})
    assert ledger.progress(60) == "1 of 2 splits mapped, 7 records, 1 bad; 20 s left"
    ledger.add_report(mapped(1))
    ledger.reduce_begins(4)
    ledger.add_report(reduced(2))
    assert ledger.progress(100) == "1 of 4 partitions reduced, 7 records, 1 bad; 5 min left"


def test_while_splits_are_being_found_nobody_knows_what_is_left():
    ledger = Ledger(0)
    ledger.add_split(1)
    ledger.add_split(1)
    ledger.add_report(mapped(0))
    assert ledger.progress(60) == "1 of 2 or more splits mapped, 0 records"


@pytest.mark.parametrize(
    "seconds, said",
    [(0.1, "1 s"), (89, "89 s"), (91, "2 min"), (5000, "83 min"), (7500, "2 h 5 min")],
)
def test_times_are_for_people(seconds, said):
    assert duration(seconds) == said


def test_a_piece_is_given_out_again_when_nothing_else_is_left_for_long_and_not_twice():
    backups = Backups(least=10)
    assert backups.due(3, [4, 5, 6], now=0) == []
    assert backups.due(0, [4, 5], now=100) == []  # since now there is nothing left to take
    assert backups.due(0, [4, 5], now=109) == []
    assert backups.due(0, [4, 5], now=110) == [4, 5]
    assert backups.due(0, [4, 5], now=500) == []


def test_long_pieces_are_given_more_time():
    backups = Backups(least=10)
    backups.note(30)
    assert backups.due(0, [4], now=0) == []
    assert backups.due(0, [4], now=59) == []
    assert backups.due(0, [4], now=60) == [4]
    assert Backups(least=None).due(0, [4], now=1e9) == []


def test_what_fails_after_another_has_done_it_does_not_fail_the_job():
    ledger = ledger_of(1, 1)
    ledger.add_report(mapped(0))
    assert not ledger.add_report({"split": 0, "failed": "its disk is full"})
    assert ledger.failure is None
    assert ledger.is_done({"split": 0}) and not ledger.is_done({"partition": 0, "split": 0})
    ledger.add_report({"split": 1, "failed": "its disk is full"})
    assert ledger.failure == "its disk is full"


def test_a_straggler_cannot_put_anything_into_a_folder_that_is_being_removed(tmp_path, monkeypatch):
    workshop = Workshop(str(tmp_path / "out"), "token").make()
    remove = shutil.rmtree

    def meanwhile(path, **how):
        with pytest.raises(FileNotFoundError):
            open(os.path.join(workshop.path, "late"), "xb")
        remove(path, **how)

    monkeypatch.setattr(shutil, "rmtree", meanwhile)
    workshop.remove()
    assert os.listdir(tmp_path) == []


def written(path, *entries):
    with runs.RunWriter(path) as writer:
        return writer.write(entries)


def test_runs_are_merged_in_rounds_and_equal_keys_keep_the_order_of_runs(tmp_path):
    segments = [
        written(tmp_path / f"run-{i}", (b"a", [i]), (b"k%02d" % (i % 3), [i, -i]))
        for i in range(11)
    ]
    (tmp_path / "rounds").mkdir()
    entries = runs.merged(segments, tmp_path / "rounds", fan_in=2)
    merged = {key: list(values) for key, values in runs.grouped(entries)}
    assert list(merged) == [b"a", b"k00", b"k01", b"k02"]
    assert merged[b"a"] == list(range(11))
    assert merged[b"k01"] == [1, -1, 4, -4, 7, -7, 10, -10]
    assert len(os.listdir(tmp_path / "rounds")) == 3
    in_memory = runs.merged(segments, tmp_path / "rounds", memory=1 << 20)
    assert {key: list(values) for key, values in runs.grouped(in_memory)} == merged


def test_a_key_with_many_large_values_is_read_in_pieces(tmp_path):
    values = [bytes([i]) * 50_000 for i in range(40)]
    segment = written(tmp_path / "run", (b"k", values))
    pieces = [piece for _, piece in runs.read(segment)]
    assert sum(pieces, []) == values
    assert max(map(len, pieces)) < 5


def test_damage_is_told_with_its_place_wherever_it_is(tmp_path):
    path = tmp_path / "run"
    segment = written(path, (b"a", [1, 2]), (b"b", ["x"]))
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        with pytest.raises(tf.errors.DataLossError, match="run, byte .* it is damaged"):
            list(runs.read(segment))
        path.write_bytes(whole[:position])
        with pytest.raises(tf.errors.DataLossError, match="run, byte"):
            list(runs.read(segment))

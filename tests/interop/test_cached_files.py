"""Caches of datasets in files: TensorFlow and Millrace read each other's."""

import json

import pytest

from programs import printed

PAIRS = [[0, "0"], [1, "1"], [4, "2"]]


def elements(module, prefix, count):
    return json.loads(printed("cache_program.py", module, prefix, count))


@pytest.mark.parametrize(
    "writer, reader",
    [("millrace", "tensorflow"), ("tensorflow", "millrace"), ("millrace", "millrace")],
)
def test_what_one_has_cached_the_other_reads(tmp_path, writer, reader):
    prefix = tmp_path / "cache"
    assert elements(writer, prefix, 3) == PAIRS
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["cache.data-00000-of-00001", "cache.index"]
    assert elements(reader, prefix, 0) == PAIRS


def test_both_lay_out_the_same_bytes(tmp_path):
    for module in ("millrace", "tensorflow"):
        elements(module, tmp_path / module, 3)
    ours, theirs = (
        (tmp_path / f"{module}.data-00000-of-00001").read_bytes()
        for module in ("millrace", "tensorflow")
    )
    assert ours == theirs

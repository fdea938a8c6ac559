"""What one of TensorFlow and Millrace saves, the other goes on with: checkpoints, MetaGraphs, state files."""

import json
import os
import re

import pytest

from programs import PYTHONS, printed


def run(module, *arguments):
    return json.loads(printed("saver_program.py", module, *arguments).splitlines()[-1])


def flat(numbers):
    if isinstance(numbers, list):
        return [item for each in numbers for item in flat(each)]
    return [numbers]


def assert_same_values(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert flat(one[name]) == pytest.approx(flat(other[name])), name


class Place:
    """A folder with what one of them has saved, which can be put back as it was."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def keep(self):
        self._names = os.listdir(self.folder)
        self._state = (self.folder / "checkpoint").read_text()
        return self._state.replace(str(self.folder), "")

    def put_back(self):
        for name in os.listdir(self.folder):
            if name not in self._names:
                os.remove(self.folder / name)
        (self.folder / "checkpoint").write_text(self._state)


def test_each_goes_on_with_what_the_other_saved(tmp_path):
    found, states = {}, {}
    for writer in PYTHONS:
        places = {kind: Place(tmp_path / f"{kind}_{writer}") for kind in ("whole", "sharded")}
        saved = run(writer, "save", *(place.folder for place in places.values()))
        states[writer] = [place.keep() for place in places.values()]
        for reader in PYTHONS:
            results = run(reader, "restore", *(place.folder for place in places.values()))
            for (kind, place), values, result in zip(places.items(), saved, results):
                assert_same_values(result["restored"], values)
                found[kind, writer, reader] = result
                place.put_back()
    assert states["tensorflow"] == states["millrace"]
    for (kind, *pair), result in found.items():
        expected = found[kind, "tensorflow", "tensorflow"]
        for key, value in result.items():
            if key in ("restored", "trained"):
                assert_same_values(value, expected[key])
            else:
                assert value == expected[key], (kind, pair, key)


def test_nodes_are_named_alike():
    theirs, ours = run("tensorflow", "nodes"), run("millrace", "nodes")
    for kind in theirs:
        different = {*theirs[kind]} ^ {*ours[kind]}
        assert {name for name in different if not _OWN.search(name)} == set(), kind


# How an assertion is made; that TensorFlow chooses a folder for S3 when a sharded Saver runs, and that shapes
# of resource variables are looked at here.
_OWN = re.compile("/Assert|StaticRegex|save_1/Const_|Select|StringJoin/inputs|EnsureShape")

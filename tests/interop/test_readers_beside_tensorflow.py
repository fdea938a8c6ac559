"""Files of records that either writes and both read, and readers of files, on TensorFlow and on Millrace."""

import json

import pytest

from programs import PYTHONS, printed


def ran(module, folder, task):
    return printed("reader_programs.py", module, folder, task)


@pytest.mark.parametrize("writer", PYTHONS)
def test_both_read_the_same_whoever_wrote(tmp_path, writer):
    ran(writer, tmp_path, "write")
    theirs, ours = (json.loads(ran(reader, tmp_path, "read")) for reader in PYTHONS)
    assert theirs.keys() == ours.keys()
    differing = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert differing == {}
    # What they agree on is what was written.
    assert [step[1] for step in ours["GZIP"][0:7:2]] == ["one", "", "x" * 5000, "\xff\x00"]

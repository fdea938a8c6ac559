"""SavedModels, frozen graphs, checkpoints of objects and of the first format that one of TensorFlow and Millrace writes, and both load."""

import json

import pytest

from programs import PYTHONS, printed


def run(module, *arguments):
    return json.loads(printed("model_programs.py", module, *arguments).splitlines()[-1])


def flat(numbers):
    return (
        [item for each in numbers for item in flat(each)]
        if isinstance(numbers, list)
        else [numbers]
    )


@pytest.mark.parametrize("writer", PYTHONS)
def test_both_load_what_one_wrote(tmp_path, writer):
    written = run(writer, "write", tmp_path)
    loaded = {reader: run(reader, "load", tmp_path) for reader in PYTHONS}
    for reader, found in loaded.items():
        for kind in ("binary", "text", "frozen"):
            for name, value in written.items():
                assert flat(found[kind][name]) == pytest.approx(flat(value)), (reader, kind, name)
        assert found["words"] == "brass\ncopper\n"
        assert found["frozen variables"] == []
        for key in found.keys() - {"binary", "text", "frozen"}:
            assert found[key] == loaded["tensorflow"][key], (reader, key)


def test_both_restore_objects_that_one_saved(tmp_path):
    written, trained = {}, []
    for writer in PYTHONS:
        folder = tmp_path / writer
        folder.mkdir()
        written[writer] = run(writer, "write_objects", folder)
        for reader in PYTHONS:
            found = run(reader, "load_objects", folder)
            for key in ("values", "by name"):
                assert flat(found[key]) == pytest.approx(flat(written[writer]["values"])), (
                    writer,
                    reader,
                    key,
                )
            trained.append(flat(found["trained"]))
    assert written["tensorflow"]["names"] == written["millrace"]["names"]
    assert all(values == pytest.approx(trained[0]) for values in trained)


def test_both_read_the_format_before_2017_as_one_wrote_it(tmp_path):
    shapes = []
    for writer in PYTHONS:
        folder = tmp_path / writer
        folder.mkdir()
        written = run(writer, "write_old", folder)
        for reader in PYTHONS:
            found = run(reader, "load_old", folder)
            assert found["values"] == [written["values"]] * 2, (writer, reader)
            shapes.append(found["shapes"])
    assert all(each == shapes[0] for each in shapes)

import os
import types

import pytest

import millrace as tf
from millrace._saving import checkpoint_state, new_checkpoints
from millrace._values import message_text


def write(path, data=b""):
    path.write_bytes(data)


def test_the_state_file_reads_like_tensorflows(tmp_path):
    first, second = str(tmp_path / "model-1"), str(tmp_path / "model-2")
    tf.train.update_checkpoint_state(str(tmp_path), second, [first, second])
    assert (tmp_path / "checkpoint").read_text() == (
        f'model_checkpoint_path: "{second}"\n'
        f'all_model_checkpoint_paths: "{first}"\n'
        f'all_model_checkpoint_paths: "{second}"\n'
    )
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == second
    assert list(state.all_model_checkpoint_paths) == [first, second]
    assert os.listdir(tmp_path) == ["checkpoint"]  # nothing unfinished beside it


def test_times_are_kept(tmp_path):
    tf.train.update_checkpoint_state(
        str(tmp_path), "/a", ["/a"], "other", [1510000000.25], last_preserved_timestamp=1.5
    )
    text = (tmp_path / "other").read_text()
    assert "all_model_checkpoint_timestamps: 1510000000.25\nlast_preserved_timestamp: 1.5\n" in text
    state = tf.train.get_checkpoint_state(tmp_path, "other")
    assert state.all_model_checkpoint_timestamps == [1510000000.25]
    assert state.last_preserved_timestamp == 1.5
    with pytest.raises(ValueError, match="timestamps"):
        tf.train.update_checkpoint_state(str(tmp_path), "/a", ["/a"], None, [1.0, 2.0])


def test_relative_paths_are_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("train")
    tf.train.update_checkpoint_state("train", "train/model-7")
    assert (tmp_path / "train" / "checkpoint").read_text() == (
        'model_checkpoint_path: "model-7"\nall_model_checkpoint_paths: "model-7"\n'
    )
    assert tf.train.get_checkpoint_state("train").model_checkpoint_path == "train/model-7"


def test_paths_may_be_made_relative(tmp_path):
    path = str(tmp_path / "model-7")
    checkpoint_state.update_checkpoint_state(str(tmp_path), path, [path], save_relative_paths=True)
    assert 'model_checkpoint_path: "model-7"' in (tmp_path / "checkpoint").read_text()
    moved = tmp_path.with_name(tmp_path.name + "-moved")
    tmp_path.rename(moved)
    assert tf.train.get_checkpoint_state(str(moved)).model_checkpoint_path == str(moved / "model-7")


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "größe", "a'b", "a\tb"])
def test_any_path_goes_through_the_text(name):
    state = checkpoint_state.CheckpointState(model_checkpoint_path=name)
    assert checkpoint_state.from_text(message_text.to_text(state)) == state


def test_text_of_other_writers_is_read():
    text = (
        "# by hand\nmodel_checkpoint_path : 'a\\x41\\101'  all_model_checkpoint_paths:\"b\";\n#end"
    )
    state = checkpoint_state.from_text(text)
    assert state.model_checkpoint_path == "aAA"
    assert list(state.all_model_checkpoint_paths) == ["b"]


@pytest.mark.parametrize("text", ["nonsense", 'other: "a"', "model_checkpoint_path: 3", 'a: "'])
def test_a_damaged_file_is_ignored_with_a_warning(tmp_path, caplog, text):
    (tmp_path / "checkpoint").write_text(text)
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    assert "Checkpoint ignored" in caplog.text


def test_a_folder_without_a_file_has_no_checkpoint(tmp_path):
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    assert tf.train.get_checkpoint_state(str(tmp_path / "none")) is None
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.get_checkpoint_state(str(tmp_path))


def test_the_latest_checkpoint_has_its_files(tmp_path, caplog):
    path = str(tmp_path / "model-1")
    tf.train.update_checkpoint_state(str(tmp_path), path)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert "Couldn't match files" in caplog.text
    write(tmp_path / "model-1.index")
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert tf.train.checkpoint_exists(path)


def test_a_checkpoint_of_the_first_format_is_one_too(tmp_path):
    assert not tf.train.checkpoint_exists(str(tmp_path))  # a folder is none
    write(tmp_path / "old-00000-of-00001")
    assert tf.train.checkpoint_exists(str(tmp_path / "old-?????-of-00001"))
    (moment,) = tf.train.get_checkpoint_mtimes([str(tmp_path / "old-?????-of-00001"), "gone"])
    assert abs(moment - os.path.getmtime(tmp_path / "old-00000-of-00001")) < 1e-5  # microseconds


def test_all_files_of_a_checkpoint_are_removed(tmp_path):
    names = ["m-1.index", "m-1.data-00000-of-00002", "m-1.data-00001-of-00002", "m-1.meta"]
    for name in [*names, "m-10.index", "m-1.txt"]:
        write(tmp_path / name)
    tf.train.remove_checkpoint(str(tmp_path / "m-1"))
    tf.train.remove_checkpoint(str(tmp_path / "m-1"))
    assert sorted(os.listdir(tmp_path)) == ["m-1.txt", "m-10.index"]


def test_of_a_removed_checkpoint_only_what_cant_be_removed_stays(tmp_path):
    for shard in range(6):
        write(tmp_path / f"m.data-0000{shard}-of-00006")
    stuck = tmp_path / "m.data-00002-of-00006"
    stuck.unlink()
    stuck.mkdir()  # a folder is not removed as a file
    write(tmp_path / "m.index")
    with pytest.raises(OSError, match="00002-of-00006"):
        tf.train.remove_checkpoint(str(tmp_path / "m"))
    assert os.listdir(tmp_path) == [stuck.name]


def test_the_state_never_replaces_the_checkpoint(tmp_path):
    path = str(tmp_path / "checkpoint")
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(str(tmp_path), path)


# ---- Waiting for the next one --------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleeping moves; `clock.on_sleep` is called then."""
    made = types.SimpleNamespace(now=0.0, on_sleep=lambda: None)

    def sleep(seconds):
        made.now += seconds
        made.on_sleep()

    fake = types.SimpleNamespace(monotonic=lambda: made.now, sleep=sleep)
    monkeypatch.setattr(new_checkpoints, "time", fake)
    return made


def save(folder, name):
    write(folder / f"{name}.index")
    tf.train.update_checkpoint_state(str(folder), str(folder / name))
    return str(folder / name)


def test_each_new_checkpoint_comes_once(tmp_path, clock):
    names = iter(["m-1", "m-2"])
    seen = []

    def on_sleep():
        if clock.now in (3.0, 30.0):
            save(tmp_path, next(names))

    clock.on_sleep = on_sleep
    for path in tf.train.checkpoints_iterator(str(tmp_path), min_interval_secs=10, timeout=50):
        seen.append((path, clock.now))
    first, second = (str(tmp_path / name) for name in ("m-1", "m-2"))
    assert seen == [(first, 3.0), (second, 30.0)]
    assert clock.now == 90.0  # ten seconds after the last one it begins to wait


def test_the_program_may_say_when_to_end(tmp_path, clock):
    path = save(tmp_path, "m-1")
    answers = iter([False, False, True])
    found = tf.train.checkpoints_iterator(
        str(tmp_path), timeout=5, timeout_fn=lambda: next(answers)
    )
    assert list(found) == [path]
    assert list(answers) == []

import math
import os

import numpy as np
import pytest

import millrace as tf
from millrace._saving.kept_checkpoints import KeptCheckpoints
from millrace._saving.saveables import SaveableObject, SaveSpec


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "model")


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def kind(request):
    return {"use_resource": request.param}


def node_names():
    return [operation.name for operation in tf.get_default_graph().get_operations()]


def initialized():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


# ---- There and back ------------------------------------------------------------------------------


def test_variables_come_back_as_they_were_saved(path, kind):
    weights = tf.Variable([[1.0, 2.0]], name="weights", **kind)
    count = tf.Variable(np.int64(7), name="count", **kind)
    words = tf.Variable(["a", "bc"], name="words", **kind)
    change = tf.assign(weights, [[5.0, 6.0]])
    saver = tf.train.Saver()
    with initialized() as session:
        session.run(change)
        assert saver.save(session, path) == path
    with tf.Session() as session:  # nothing is initialized in it
        saver.restore(session, path)
        assert session.run(weights).tolist() == [[5.0, 6.0]]
        assert session.run(count) == 7 and session.run(words).tolist() == [b"a", b"bc"]


@pytest.mark.parametrize("sharded", [False, True])
def test_a_sharded_saver_reads_and_writes_the_same(path, sharded):
    with tf.device("/device:CPU:0"):
        first = tf.Variable(1.0, name="first")
    second = tf.Variable(2.0, name="second")
    saver = tf.train.Saver(sharded=sharded)
    with initialized() as session:
        saver.save(session, path, global_step=3)
    files = sorted(os.listdir(os.path.dirname(path)))
    shards = ["00000-of-00002", "00001-of-00002"] if sharded else ["00000-of-00001"]
    assert files == [
        "checkpoint",
        *(f"model-3.data-{s}" for s in shards),
        "model-3.index",
        "model-3.meta",
    ]
    other = tf.train.Saver(sharded=not sharded)
    with tf.Session() as session:
        other.restore(session, path + "-3")
        assert session.run([first, second]) == [1.0, 2.0]


def test_some_variables_and_other_names(path):
    first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second")
    with initialized() as session:
        tf.train.Saver({"other": first}).save(session, path)
    saver = tf.train.Saver({"other": second})
    missing = tf.train.Saver([first])
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(second) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(first)
        with pytest.raises(tf.errors.NotFoundError, match="(?s)graph key that is missing.*first"):
            missing.restore(session, path)


def test_values_of_another_shape_need_to_be_asked_for(path, kind):
    one = tf.Variable([1.0, 2.0, 3.0, 4.0], name="one", **kind)
    other = tf.Variable([[0.0, 0.0], [0.0, 0.0]], name="other", **kind)
    with initialized() as session:
        tf.train.Saver({"x": one}).save(session, path)
    strict, lenient = tf.train.Saver({"x": other}), tf.train.Saver({"x": other}, reshape=True)
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="a mismatch between the current graph"
        ):
            strict.restore(session, path)
        lenient.restore(session, path)
        assert session.run(other).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_slices_of_a_variable_are_saved_as_the_whole(path):
    parts = []
    for number in range(2):
        part = tf.Variable(np.full([2, 3], number + 1.0, np.float32), name=f"whole/part_{number}")
        part._set_save_slice_info(
            tf.Variable.SaveSliceInfo("whole", [4, 3], [2 * number, 0], [2, 3])
        )
        parts.append(part)
    whole = tf.Variable(tf.zeros([4, 3]), name="all")
    assert parts[1].save_slice_info.spec == "4 3 2,2:0,3"
    saver, reader = tf.train.Saver(parts), tf.train.Saver({"whole": whole})
    by_name = tf.train.Saver({"whole": parts})
    with initialized() as session:
        saver.save(session, path)
        reader.restore(session, path)
        assert session.run(whole)[:, 0].tolist() == [1.0, 1.0, 2.0, 2.0]
    with tf.Session() as session:
        by_name.restore(session, path)
        assert session.run(parts[1]).tolist() == [[2.0] * 3] * 2


def test_ones_own_objects_are_saved_too(path):
    variable = tf.Variable([1.0, 2.0])

    class Halves(SaveableObject):
        def __init__(self):
            specs = [SaveSpec(variable[i], "", f"half_{i}") for i in range(2)]
            super().__init__(variable, specs, "halves")

        def restore(self, restored_tensors, restored_shapes):
            return tf.assign(variable, tf.stack(restored_tensors[::-1]))

    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, Halves())
    del tf.get_collection_ref(tf.GraphKeys.GLOBAL_VARIABLES)[:]
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(variable.initializer)
        saver.save(session, path)
        saver.restore(session, path)
        assert session.run(variable).tolist() == [2.0, 1.0]


def test_restoring_one_after_another(path):
    variables = [tf.Variable(float(i)) for i in range(3)]
    saver = tf.train.Saver(restore_sequentially=True)
    assert "save/Assign" in [
        i.name for i in tf.get_default_graph().get_operation_by_name("save/Assign_1").control_inputs
    ]
    with initialized() as session:
        saver.save(session, path)
        saver.restore(session, path)
        assert session.run(variables) == [0.0, 1.0, 2.0]


# ---- The nodes -----------------------------------------------------------------------------------


def test_nodes_are_named_as_in_tensorflow():
    tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    before = len(node_names())
    saver = tf.train.Saver()
    assert node_names()[before:] == [
        "save/filename/input",
        "save/filename",
        "save/Const",
        "save/SaveV2/tensor_names",
        "save/SaveV2/shape_and_slices",
        "save/SaveV2",
        "save/control_dependency",
        "save/RestoreV2/tensor_names",
        "save/RestoreV2/shape_and_slices",
        "save/RestoreV2",
        "save/Assign",
        "save/Assign_1",
        "save/restore_all",
    ]
    assert saver.saver_def.filename_tensor_name == "save/Const:0"
    assert saver.saver_def.save_tensor_name == "save/control_dependency:0"
    assert saver.saver_def.restore_op_name == "save/restore_all"
    assert tf.train.Saver(name="mine").saver_def.restore_op_name == "mine/restore_all"


def test_each_device_writes_its_part():
    with tf.device("/job:ps/task:1"):
        tf.Variable(1.0, name="b")
    with tf.device("/job:ps/task:0/device:CPU:0"):
        tf.Variable(1.0, name="a")
    saver = tf.train.Saver(sharded=True)
    graph = tf.get_default_graph()
    places = [graph.get_operation_by_name(name).device for name in ("save/SaveV2", "save/SaveV2_1")]
    assert places == ["/job:ps/task:0/device:CPU:0", "/job:ps/task:1/device:CPU:0"]
    assert graph.get_operation_by_name("save/MergeV2Checkpoints").device == places[1]
    assert saver.saver_def.save_tensor_name == "save/Identity:0" and saver.saver_def.sharded


def test_a_saver_goes_through_its_definition(path):
    variable = tf.Variable(3.0)
    first = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1.5)
    data = first.as_saver_def().SerializeToString()
    assert data == (
        b"\x0a\x0csave/Const:0\x12\x19save/control_dependency:0\x1a\x10save/restore_all"
        b"\x20\x02\x35\x00\x00\xc0\x3f\x38\x02"
    )
    saver = tf.train.Saver(saver_def=tf.train.SaverDef.FromString(data))
    with initialized() as session:
        saver.save(session, path)
        saver.restore(session, path)
        assert session.run(variable) == 3.0
    assert saver.to_proto("nowhere") is None
    assert saver.to_proto("save").restore_op_name == "restore_all"
    with pytest.raises(ValueError, match="must specify the save_tensor_name"):
        tf.train.Saver(saver_def=tf.train.SaverDef())


# ---- Which checkpoints are kept ------------------------------------------------------------------


def indices(path):
    folder = os.path.dirname(path)
    return sorted(name for name in os.listdir(folder) if name.endswith(".index"))


def test_the_last_ones_are_kept(path):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=2)
    with initialized() as session:
        for step in (1, 2, 3, 2):
            saver.save(session, path, global_step=step)
        assert saver.last_checkpoints == [path + "-3", path + "-2"]
        assert indices(path) == ["model-2.index", "model-3.index"]
        assert tf.train.latest_checkpoint(os.path.dirname(path)) == path + "-2"
        # Another program goes on with them.
        other = tf.train.Saver(max_to_keep=2, saver_def=saver.saver_def)
        state = tf.train.get_checkpoint_state(os.path.dirname(path))
        os.remove(path + "-3.index")
        other.recover_last_checkpoints(state.all_model_checkpoint_paths)
        assert other.last_checkpoints == [path + "-2"]
        other.save(session, path, global_step=5)
        other.save(session, path, global_step=6)
        assert indices(path) == ["model-5.index", "model-6.index"]


@pytest.mark.parametrize("limit", [None, 0])
def test_without_a_limit_all_are_kept(path, limit):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=limit)
    with initialized() as session:
        for step in range(7):
            saver.save(session, path, global_step=step, write_meta_graph=False)
    assert len(indices(path)) == 7 and saver.last_checkpoints == []


def test_now_and_then_one_is_kept_for_good():
    kept = KeptCheckpoints(max_to_keep=1, every_n_hours=2, now=0)
    hour = 3600
    gone = [kept.add(f"c{number}", number * hour) for number in range(8)]
    # Those of the hours 3 and 5 stay: the first after 2 hours, and after 4.
    assert gone == [None, "c0", "c1", "c2", None, "c4", None, "c6"]
    kept.set(["x", "y"])
    assert kept.paths == ["x", "y"] and kept.last[0][1] == math.inf


def test_names_of_checkpoints(path, tmp_path):
    variable = tf.Variable(1.0)
    step = tf.Variable(12, trainable=False)
    padded = tf.train.Saver([variable], pad_step_number=True, save_relative_paths=True)
    with initialized() as session:
        assert padded.save(session, path, global_step=step) == path + "-00000012"
        assert padded.save(session, path, np.int64(3), latest_filename="mine") == path + "-00000003"
        assert 'model_checkpoint_path: "model-00000003"' in (tmp_path / "mine").read_text()
        before = (tmp_path / "checkpoint").read_text()
        padded.save(session, path, 4, write_state=False, meta_graph_suffix="graph")
        assert (tmp_path / "checkpoint").read_text() == before
        assert (tmp_path / "model-00000004.graph").exists()


# ---- What goes wrong -----------------------------------------------------------------------------


def test_a_saver_needs_something_to_save(path):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    tf.constant(1)
    with tf.Session() as session:
        assert empty.save(session, path) is None and os.path.exists(path + ".meta")
        empty.restore(session, None)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda a, b: [a, tf.constant(1.0)], TypeError, "is not a Variable"),
        (lambda a, b: {"x": tf.constant(1.0)}, TypeError, "Not a variable"),
        (lambda a, b: {"x": 3}, TypeError, "Not a variable"),
        (lambda a, b: {3: a}, TypeError, "Name is not a string"),
        (lambda a, b: a, TypeError, "in a dict or a list"),
        (lambda a, b: [a, a], ValueError, "same name: a"),
        (lambda a, b: {"x": a, "y": a}, ValueError, "with two names: y"),
        (lambda a, b: {"x": [a]}, ValueError, "must all be slices"),
        (lambda a, b: {"x": ["a"]}, ValueError, "must all be Variables"),
    ],
)
def test_what_can_not_be_saved_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        tf.train.Saver(make(tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b")))


def test_arguments_that_make_no_sense_are_refused(path, tmp_path):
    variable = tf.Variable(1.0)
    saver = tf.train.Saver()
    with pytest.raises(ValueError, match="cannot be deferred"):
        tf.train.Saver([variable], defer_build=True)
    with pytest.raises(ValueError, match="there are SaverDef.V1 and V2"):
        tf.train.Saver(write_version=3)
    late = tf.train.Saver(defer_build=True)
    with initialized() as session:
        with pytest.raises(RuntimeError, match="should be called before save"):
            late.save(session, path)
        with pytest.raises(TypeError, match="'sess' must be a Session"):
            saver.save("session", path)
        with pytest.raises(ValueError, match="must not contain path components"):
            saver.save(session, path, latest_filename="a/b")
        with pytest.raises(ValueError, match="collides"):
            saver.save(session, str(tmp_path / "checkpoint"))
        with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
            (tmp_path / "file").write_text("")
            saver.save(session, str(tmp_path / "file" / "model"))
        with pytest.raises(ValueError, match="when it is None"):
            saver.restore(session, None)
        with pytest.raises(ValueError, match="not a valid checkpoint: " + path):
            saver.restore(session, path)


# ---- Training with checkpoints -------------------------------------------------------------------


def test_training_goes_on_from_the_last_checkpoint(tmp_path):
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    for last in (5, 9):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path),
            save_checkpoint_steps=2,
            save_checkpoint_secs=None,
            hooks=[tf.train.StopAtStepHook(last_step=last)],
        ) as session:
            seen = []
            while not session.should_stop():
                seen.append(int(session.run(step)))
        assert seen == list(range(1 if last == 5 else 6, last + 1))
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-9")


def test_a_supervisor_restores_what_another_saved(tmp_path):
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with supervisor.managed_session() as session:
        session.run(step)
        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
    with supervisor.managed_session() as session:
        assert session.run(step) == 2


@pytest.mark.parametrize("sharded", [False, True])
def test_the_first_format_is_written_and_read(path, sharded):
    a = tf.Variable([1.0, -2.0], name="a")
    with tf.device("/device:CPU:0"):
        texts = tf.Variable(["x", ""], name="texts")
    part = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, sharded=sharded, max_to_keep=1)
    with initialized() as session:
        expected = session.run([a, texts, part.as_tensor()])
        first = saver.save(session, path, 1)
        saved = saver.save(session, path, 2)
        assert tf.train.latest_checkpoint(os.path.dirname(path)) == saved
        assert not tf.train.checkpoint_exists(first) and tf.train.checkpoint_exists(saved)
        session.run([v.assign(tf.zeros(v.shape)) for v in [a, *part]])
        saver.restore(session, saved)
        found = session.run([a, texts, part.as_tensor()])
    assert [value.tolist() for value in found] == [value.tolist() for value in expected]
    reader = tf.train.NewCheckpointReader(saved)
    assert reader.get_variable_to_shape_map() == {"a": [2], "texts": [2], "p": [4]}
    assert reader.get_tensor("p").tolist() == expected[2].tolist()
    with pytest.raises(tf.errors.NotFoundError):
        reader.get_tensor("none")


def test_a_saver_with_a_place_for_its_files_streams_pieces(path, monkeypatch):
    monkeypatch.setattr("millrace._saving.saver_graph._PIECE_BYTES", 16)
    variables = [tf.Variable([float(i)] * 3, name=f"v{i}") for i in range(4)]
    variables.append(tf.Variable(7, name="n", use_resource=True))
    variables.append(tf.Variable(["a", "b"], name="t"))
    saver = tf.train.Saver(saving_device="/device:CPU:0")
    saves = [op for op in tf.get_default_graph().get_operations() if op.type == "SaveV2"]
    assert len(saves) == 5 and all(op.device == "/device:CPU:0" for op in saves)
    with initialized() as session:
        expected = [value.tolist() for value in session.run(variables)]
        saved = saver.save(session, path, 3)
        session.run([v.assign(v * 0) for v in variables[:5]])
        saver.restore(session, saved)
        assert [value.tolist() for value in session.run(variables)] == expected
    assert sorted(name for name, _ in tf.train.list_variables(saved)) == sorted(
        v.op.name for v in variables
    )
    assert not [name for name in os.listdir(os.path.dirname(path)) if "_temp" in name]
    with pytest.raises(ValueError, match="one place for all files"):
        tf.train.Saver(saving_device="/cpu:0", sharded=True)

import numpy as np
import pytest

import millrace as tf


@pytest.fixture
def path(tmp_path):
    """A checkpoint with the variables a/x, a/y and b."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in (("a/x", [1.0, 2.0]), ("a/y", 3.0), ("b", np.int64(4))):
            tf.Variable(value, name=name)
        session.run(tf.global_variables_initializer())
        yield tf.train.Saver().save(session, str(tmp_path / "model"))


def test_variables_are_listed_and_read(path, tmp_path):
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"a/x": [2], "a/y": [], "b": []}
    assert reader.get_variable_to_dtype_map()["b"] == tf.int64
    assert reader.has_tensor("b") and not reader.has_tensor("c")
    assert reader.get_tensor("a/x").tolist() == [1.0, 2.0]
    assert b"a/x (DT_FLOAT) [2]" in reader.debug_string()
    assert tf.train.list_variables(str(tmp_path)) == [("a/x", [2]), ("a/y", []), ("b", [])]
    assert tf.train.load_variable(tmp_path, "b:0") == 4
    with pytest.raises(tf.errors.NotFoundError):
        reader.get_tensor("c")


def test_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.NewCheckpointReader(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.load_checkpoint(str(tmp_path))


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_begin_with_values_of_a_checkpoint(path, session, use_resource):
    with tf.variable_scope("new", use_resource=use_resource):
        x = tf.get_variable("x", [2])
        y = tf.get_variable("y", [])
    other = tf.Variable(np.int64(0), name="other", use_resource=use_resource)
    tf.train.init_from_checkpoint(path, {"a/": "new/", "b": other})
    session.run(tf.global_variables_initializer())
    assert session.run(x).tolist() == [1.0, 2.0]
    assert session.run([y, other]) == [3.0, 4]


def test_by_name_and_by_slices(path, session):
    y = tf.get_variable("y", [])
    part = tf.Variable([0.0], name="x/part_1")
    part._set_save_slice_info(tf.Variable.SaveSliceInfo("x", [2], [1], [1]))
    tf.train.init_from_checkpoint(path, {"a/y": "y", "a/x": [part]})
    session.run(tf.global_variables_initializer())
    assert session.run(y) == 3.0 and session.run(part).tolist() == [2.0]


def test_what_does_not_fit_is_refused(path):
    y = tf.get_variable("y", [3])
    with pytest.raises(ValueError, match="Tensor c is not found"):
        tf.train.init_from_checkpoint(path, {"c": y})
    with pytest.raises(ValueError, match="doesn't match with shape"):
        tf.train.init_from_checkpoint(path, {"a/y": y})
    with pytest.raises(ValueError, match="should map to scope only"):
        tf.train.init_from_checkpoint(path, {"a": "new/"})
    with pytest.raises(ValueError, match="Tensor y is not found"):
        tf.train.init_from_checkpoint(path, {"/": "/"})


# ---- Checkpoints of objects ----------------------------------------------------------------------


@pytest.fixture
def objects(tmp_path):
    """What tf.train.Checkpoint(a=<variable layer/v>, b=<variable w>) of TensorFlow saves."""
    described = (
        b"\n$\n\x05\x08\x01\x12\x01a\n\x05\x08\x02\x12\x01b\n\x10\x08\x03\x12\x0csave_counter*\x02\x08\x01"
        b"\n=\x127\n\x0eVARIABLE_VALUE\x12\x07layer/v\x1a\x1ca/.ATTRIBUTES/VARIABLE_VALUE*\x02\x08\x01"
        b"\n7\x121\n\x0eVARIABLE_VALUE\x12\x01w\x1a\x1cb/.ATTRIBUTES/VARIABLE_VALUE*\x02\x08\x01"
    )
    path = str(tmp_path / "objects")
    tensors = {
        "_CHECKPOINTABLE_OBJECT_GRAPH": described,
        "a/.ATTRIBUTES/VARIABLE_VALUE": [1.0, 2.0],
        "b/.ATTRIBUTES/VARIABLE_VALUE": np.int32(5),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        save = tf.raw_ops.SaveV2(
            prefix=path,
            tensor_names=list(tensors),
            shape_and_slices=[""] * len(tensors),
            tensors=[tf.constant(value) for value in tensors.values()],
        )
        session.run(save)
    return path


def test_a_checkpoint_of_objects_is_restored_by_names(objects, session, caplog):
    v = tf.Variable([0.0, 0.0], name="layer/v")
    w = tf.Variable(0, name="w", use_resource=True)
    by_list, by_name = tf.train.Saver(), tf.train.Saver({"w": w})
    tf.get_default_graph().finalize()
    by_list.restore(session, objects)
    assert session.run(v).tolist() == [1.0, 2.0] and session.run(w) == 5
    assert "was saved by objects" in caplog.text
    by_name.restore(session, objects)


def test_a_variable_that_no_object_was_is_told(objects, session):
    saver = tf.train.Saver([tf.Variable(0, name="new"), tf.Variable(0, name="w")])
    with pytest.raises(tf.errors.NotFoundError, match="not in the checkpoint: new.* now: layer/v"):
        saver.restore(session, objects)


def test_variables_take_values_of_a_checkpoint(tmp_path, session):
    path = str(tmp_path / "m")
    a = tf.Variable([1.0, 2.0], name="a")
    part = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
    session.run(tf.global_variables_initializer())
    expected = session.run(part.as_tensor()).tolist()
    tf.train.Saver().save(session, path)
    session.run([v.assign(tf.zeros(v.shape)) for v in tf.global_variables()])
    framework = tf.contrib.framework
    operation, feeds = framework.assign_from_checkpoint(path, [a, *part])
    session.run(operation, feeds)
    assert session.run(a).tolist() == [1.0, 2.0]
    assert session.run(part.as_tensor()).tolist() == expected
    b = tf.Variable([[0.0], [0.0]], name="b")
    with pytest.raises(ValueError, match=r"missing variable \[b\]"):
        framework.assign_from_checkpoint(path, [b])
    with pytest.raises(ValueError, match="rh_shape"):
        framework.assign_from_checkpoint(path, {"a": b})
    assert framework.assign_from_checkpoint_fn(path, [b], ignore_missing_vars=True) is None
    framework.assign_from_checkpoint_fn(path, {"a": b}, reshape_variables=True)(session)
    assert session.run(b).tolist() == [[1.0], [2.0]]
    framework.assign_from_values_fn({"a": [7.0, 8.0]})(session)
    assert session.run(a).tolist() == [7.0, 8.0]

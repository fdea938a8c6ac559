"""Checkpoints cross the border: TensorFlow's Saver on Millrace's servers, and each reads the other's."""

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

DTYPES = [
    tf.float16, tf.float32, tf.float64, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64,
    tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.complex64, tf.complex128, tf.bool, tf.string,
]  # fmt: skip


def value_of(dtype):
    if dtype == tf.string:
        return np.array([[b"", b"a\0b"], [b"x" * 300, b"\xff"]], dtype=object)
    return np.arange(6).reshape(2, 3).astype(dtype.as_numpy_dtype)


def some_variables():
    """One resource variable and one constant-shaped reference variable of every type that has both."""
    made = {}
    for dtype in DTYPES:
        if dtype == tf.string:
            made[dtype] = tf.Variable(value_of(dtype), name="of_string", use_resource=False)
        else:
            resource = dtype in (tf.float32, tf.int64, tf.bool)
            made[dtype] = tf.Variable(
                value_of(dtype), name=f"of_{dtype.name}", use_resource=resource
            )
    return made


def same(left, right):
    return np.array_equal(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize("sharded", [False, True])
def test_what_our_servers_save_tensorflow_reads(target, connect, tmp_path, sharded):
    with tf.Graph().as_default():
        variables = some_variables()
        saver = tf.train.Saver(sharded=sharded)
        session = connect(target)
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"), global_step=7)
    reader = tf.train.load_checkpoint(path)
    for dtype in variables:
        assert same(reader.get_tensor(f"of_{dtype.name}"), value_of(dtype)), dtype
    assert reader.get_variable_to_shape_map()["of_float32"] == [2, 3]


@pytest.mark.parametrize("sharded", [False, True])
def test_what_tensorflow_saves_our_servers_restore(target, connect, tmp_path, sharded):
    with tf.Graph().as_default():
        variables = some_variables()
        saver = tf.train.Saver(sharded=sharded)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = saver.save(session, str(tmp_path / "model"))
        session = connect(target)
        saver.restore(session, path)
        for dtype, variable in variables.items():
            assert same(session.run(variable), value_of(dtype)), dtype


def test_a_large_checkpoint_has_shards_that_tensorflow_reads_and_replaces(
    target, connect, tmp_path
):
    megabytes = 1 << 20
    with tf.Graph().as_default():
        large = [
            tf.Variable(tf.fill([36, megabytes], tf.constant(i, tf.uint8)), name=f"large{i}")
            for i in range(4)
        ]
        small = tf.Variable(["a", "bc"], name="small", use_resource=False)
        saver = tf.train.Saver(max_to_keep=1)
        session = connect(target)
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"), global_step=1)
        assert (tmp_path / "model-1.data-00001-of-00002").stat().st_size > 36 * megabytes
        reader = tf.train.load_checkpoint(path)
        for i in range(4):
            value = reader.get_tensor(f"large{i}")
            assert value.shape == (36, megabytes) and (value == i).all()
        assert same(reader.get_tensor("small"), [b"a", b"bc"])
        session.run([v.initializer for v in [large[0], small]])
        saver.restore(session, path)
        # The one before goes with all of its shards.
        saver.save(session, str(tmp_path / "model"), global_step=2, write_meta_graph=False)
        assert not list(tmp_path.glob("model-1.data*"))


def partitioned():
    return tf.get_variable(
        "w",
        initializer=tf.constant(np.arange(20.0, dtype=np.float32).reshape(10, 2)),
        partitioner=tf.fixed_size_partitioner(3),
        use_resource=False,
    )


def test_a_partitioned_variable_is_saved_as_one_tensor_and_restored_in_other_parts(
    target, connect, tmp_path
):
    whole = np.arange(20.0, dtype=np.float32).reshape(10, 2)
    with tf.Graph().as_default():
        partitioned()
        session = connect(target)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "ours"))
    assert same(tf.train.load_checkpoint(path).get_tensor("w"), whole)
    with tf.Graph().as_default():
        variable = tf.get_variable("w", shape=[10, 2], use_resource=False)
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            path = tf.train.Saver().save(session, str(tmp_path / "theirs"))
    tf.Session.reset(target)  # its parts have other shapes there
    with tf.Graph().as_default():
        variable = tf.get_variable(
            "w", shape=[10, 2], partitioner=tf.fixed_size_partitioner(4), use_resource=False
        )
        session = connect(target)
        tf.train.Saver().restore(session, path)
        assert same(session.run(variable.as_tensor()), whole)


def test_shards_of_two_tasks_become_one_checkpoint(cluster, connect, tmp_path):
    tasks = cluster(ps=2, worker=1)
    with tf.Graph().as_default():
        for task in range(2):
            with tf.device(f"/job:ps/task:{task}"):
                tf.Variable(float(task + 1), name=f"on_{task}", use_resource=False)
        session = connect(tasks.target("worker"))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver(sharded=True).save(session, str(tmp_path / "saved" / "model"))
        assert sorted(each.name for each in (tmp_path / "saved").iterdir()) == [
            "checkpoint", "model.data-00000-of-00002", "model.data-00001-of-00002",
            "model.index", "model.meta",
        ]  # fmt: skip
    reader = tf.train.load_checkpoint(path)
    assert [reader.get_tensor(f"on_{task}") for task in range(2)] == [1.0, 2.0]


def test_a_name_that_is_not_in_the_checkpoint_is_told_as_tensorflow_tells_it(
    target, connect, tmp_path
):
    with tf.Graph().as_default():
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver()
        session = connect(target)
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
    with tf.Graph().as_default():
        tf.Variable(1.0, name="b")
        session = connect(target)
        with pytest.raises(tf.errors.NotFoundError, match="Key b not found in checkpoint"):
            tf.train.Saver().restore(session, path)
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            tf.train.Saver().restore(session, str(tmp_path / "none"))


def test_many_names_cross_both_ways(target, connect, tmp_path):
    names = [f"layer_{i}/weights" for i in range(2000)]
    with tf.Graph().as_default():
        save = tf.raw_ops.SaveV2(
            prefix=str(tmp_path / "many"),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=[tf.constant([i, i + 1]) for i in range(len(names))],
        )
        connect(target).run(save)
    reader = tf.train.load_checkpoint(str(tmp_path / "many"))
    assert reader.get_variable_to_shape_map() == {name: [2] for name in names}
    assert reader.get_tensor(names[1234]).tolist() == [1234, 1235]

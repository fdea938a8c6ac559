"""Variables in parts: tf.get_variable(partitioner=), what divides them, lookups, training, checkpoints."""

import numpy as np
import pytest

import millrace as tf


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def made(name="v", shape=(10, 4), parts=3, **more):
    return tf.get_variable(name, shape, partitioner=tf.fixed_size_partitioner(parts), **more)


def test_a_variable_is_divided_along_one_axis():
    v = made(initializer=tf.zeros_initializer(), regularizer=tf.reduce_sum)
    assert (v.name, v.shape.as_list(), v.dtype, len(v)) == ("v", [10, 4], tf.float32, 3)
    assert [part.name for part in v] == ["v/part_0:0", "v/part_1:0", "v/part_2:0"]
    assert [part.shape.as_list() for part in v] == [[4, 4], [3, 4], [3, 4]]
    assert [part.save_slice_info.spec for part in v] == [
        "10 4 0,4:0,4",
        "10 4 4,3:0,4",
        "10 4 7,3:0,4",
    ]
    assert tf.trainable_variables() == list(v) == tf.global_variables()
    assert [loss.name for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)] == [
        f"v/part_{i}/Regularizer/Sum:0" for i in range(3)
    ]
    assert v.as_tensor().name == "v:0"


def test_it_is_a_tensor_of_the_whole_where_one_is_asked_for():
    value = np.arange(20, dtype=np.float32).reshape(10, 2)
    v = tf.get_variable("v", initializer=value, partitioner=tf.fixed_size_partitioner(4))
    w = tf.get_variable(
        "w", initializer=tf.constant(value), partitioner=tf.fixed_size_partitioner(2, axis=1)
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.add(v, w)), value * 2)
        np.testing.assert_array_equal(session.run(list(w)[1]), value[:, 1:])
        session.run(v.assign(value + 1))
        session.run(v.assign_sub(np.ones_like(value)))
        np.testing.assert_array_equal(session.run(v.as_tensor()), value)


def test_parts_begin_as_random_as_the_whole_would():
    scale = tf.variance_scaling_initializer(distribution="uniform", seed=1)
    v = made(shape=[1000, 2], parts=100, initializer=scale)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        largest = np.abs(session.run(v.as_tensor())).max()
    assert 0.9 * np.sqrt(3 / 1000) < largest <= np.sqrt(3 / 1000)


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_an_identity_make_one(axis):
    divided = tf.fixed_size_partitioner(2, axis=axis)
    v = tf.get_variable("v", [3, 5], initializer=tf.initializers.identity(), partitioner=divided)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(v.as_tensor()), np.eye(3, 5))


def test_a_scope_divides_what_is_made_in_it_but_scalars():
    with tf.variable_scope("s", partitioner=tf.min_max_variable_partitioner(4, min_slice_size=16)):
        assert len(tf.get_variable("w", [100, 3])) == 4
        assert isinstance(tf.get_variable("b", []), tf.Variable)
        assert [part.name for part in tf.get_variable("c", [1])] == ["s/c/part_0:0"]
        x = tf.layers.dense(tf.ones([2, 8]), 3, name="d")
    assert len([v for v in tf.trainable_variables() if v.name.startswith("s/d/kernel/part_")]) == 4
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(x).shape == (2, 3)


def test_it_is_shared_like_other_variables():
    v = made()
    with pytest.raises(ValueError, match="Variable v already exists"):
        made()
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        assert made() is v and tf.get_variable("v", [10, 4]) is v
        with pytest.raises(
            ValueError, match=r"specified partitions \[2, 1\] and found .* \[3, 1\]"
        ):
            made(parts=2)
        with pytest.raises(ValueError, match="specified shape"):
            made(shape=[9, 4])
        with pytest.raises(ValueError, match="PartitionedVariable w does not exist"):
            made("w")
    tf.get_variable("whole", [4])
    with pytest.raises(ValueError, match="an unpartitioned version of the variable was found"):
        made("whole", [4])


@pytest.mark.parametrize(
    "shape, answer, words",
    [
        ([10, 4], [2, 2], "Can only slice a variable along one dimension"),
        ([10], [2, 2], "does not match the Variable's rank"),
        ([10], 3, "must return a sequence"),
        ([10], [0], "zero partitions"),
        ([2], [3], "Cannot divide the 2 slices"),
        (None, [1], "must be fully defined"),
    ],
)
def test_a_partitioner_must_answer_with_one_number_per_axis(shape, answer, words):
    with pytest.raises(ValueError, match=words):
        tf.get_variable("v", shape, partitioner=lambda shape, dtype: answer)


def test_partitioners_count_bytes():
    shape = tf.TensorShape([10, 100])
    by_size = tf.variable_axis_size_partitioner
    assert by_size(1000)(shape=shape, dtype=tf.float32) == [5, 1]
    assert by_size(1000, axis=1, max_shards=3)(shape=shape, dtype=tf.float32) == [1, 3]
    assert by_size(1600)(shape=shape, dtype=tf.string) == [10, 1]
    smallest = tf.min_max_variable_partitioner(max_partitions=7, min_slice_size=100)
    assert smallest(shape=shape, dtype=tf.float32) == [7, 1]
    with pytest.raises(ValueError, match="positive"):
        by_size(0)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_lookups_and_optimizers_take_its_parts(strategy, use_resource):
    v = made(shape=[10, 2], initializer=tf.ones_initializer(), use_resource=use_resource)
    rows = tf.nn.embedding_lookup(v, [1, 2, 9], partition_strategy=strategy)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(rows).tolist() == [[0.5, 0.5]] * 3
        assert session.run(tf.reduce_sum(v)) == 17


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_checkpoint_has_the_whole_whatever_the_parts(tmp_path, use_resource):
    value = np.arange(20, dtype=np.float32).reshape(10, 2)
    path = str(tmp_path / "model")

    def whole(parts):
        return tf.get_variable(
            "v",
            initializer=value if parts == 3 else np.zeros_like(value),
            partitioner=tf.fixed_size_partitioner(parts) if parts else None,
            use_resource=use_resource,
        )

    with tf.Session() as session:
        v = whole(3)
        session.run(tf.global_variables_initializer())
        tf.train.Saver([v]).save(session, path)
    assert tf.train.list_variables(path) == [("v", [10, 2])]
    np.testing.assert_array_equal(tf.train.load_variable(path, "v"), value)
    for parts in (4, 1, None):
        with tf.Graph().as_default(), tf.Session() as session:
            v = whole(parts)
            tf.train.Saver().restore(session, path)
            np.testing.assert_array_equal(session.run(tf.identity(v)), value)


def momentum_of(parts):
    """A variable in so many parts (None for whole), and what trains it."""
    v = tf.get_variable(
        "v",
        initializer=np.ones([10, 2], np.float32),
        partitioner=tf.fixed_size_partitioner(parts) if parts else None,
    )
    factors = np.arange(20, dtype=np.float32).reshape(10, 2)
    return tf.train.MomentumOptimizer(0.1, 0.5).minimize(tf.reduce_sum(tf.multiply(v, factors)))


def test_what_optimizers_keep_of_parts_is_in_a_checkpoint_as_a_whole_too(tmp_path):
    path = str(tmp_path / "model")
    with tf.Session() as session:
        step = momentum_of(3)
        session.run(tf.global_variables_initializer())
        session.run([step])
        tf.train.Saver().save(session, path)
    assert tf.train.list_variables(path) == [("v", [10, 2]), ("v/Momentum", [10, 2])]
    kept = np.arange(20, dtype=np.float32).reshape(10, 2)
    np.testing.assert_array_equal(tf.train.load_variable(path, "v/Momentum"), kept)
    for parts in (2, None):
        with tf.Graph().as_default(), tf.Session() as session:
            momentum_of(parts)
            tf.train.Saver().restore(session, path)
            _, *slots = tf.global_variables()[-(parts or 1) - 1 :]
            np.testing.assert_array_equal(np.concatenate(session.run(slots)), kept)


def test_what_optimizers_keep_is_not_divided_again_by_the_scope_that_they_are_in():
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        v = tf.get_variable("v", [10, 2])
        tf.train.MomentumOptimizer(0.1, 0.5).minimize(tf.reduce_sum(v))
    slots = tf.global_variables()[2:]
    assert [slot.shape.as_list() for slot in slots] == [[5, 2]] * 2
    # TensorFlow calls them so: the scope's name is once more in front, and as much is cut off it.
    assert [slot.save_slice_info.full_name for slot in slots] == [
        "model/v/art_0/Momentum",
        "model/v/art_1/Momentum",
    ]


def test_batch_normalization_keeps_its_averages_whole():
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(3)):
        x = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
        y = tf.layers.batch_normalization(x, training=True)
    names = [variable.op.name for variable in tf.global_variables()]
    inner = "model/batch_normalization"
    assert names == [
        *(f"{inner}/{name}/part_{part}" for name in ("gamma", "beta") for part in range(3)),
        f"{inner}/moving_mean",
        f"{inner}/moving_variance",
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        assert session.run(y).mean() == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(
            session.run(tf.global_variables()[-2]), [0.045, 0.055, 0.065], rtol=1e-5
        )


def test_averages_may_be_made_before_a_layer_is_called():
    layer = tf.layers.BatchNormalization(center=False, scale=False)
    layer.build(tf.TensorShape([None, 3]))
    assert [v.op.name.rpartition("/")[2] for v in layer.variables] == [
        "moving_mean",
        "moving_variance",
    ]


def test_layers_regularize_its_parts():
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        x = tf.ones([1, 4])
        tf.layers.dense(x, 3, kernel_regularizer=tf.reduce_sum, kernel_initializer=tf.ones)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(losses) == [6, 6]


def test_programs_find_its_class_where_tensorflow_has_it():
    from millrace.python.ops.variables import PartitionedVariable

    assert isinstance(made(), PartitionedVariable)

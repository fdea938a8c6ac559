"""What libraries do in the replicas of a strategy: averages, scopes, layers, optimizers that know variables by themselves."""

import numpy as np
import pytest

import millrace as tf

ON_READ = tf.VariableSynchronization.ON_READ


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


@pytest.fixture
def session():
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        yield session


def number():
    """Which replica this is: a float32 scalar."""
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def copies_are(session, variable, expected):
    copies = session.run(list(variable.copies))
    assert len(copies) == 2
    for copy in copies:
        np.testing.assert_allclose(copy, expected, rtol=1e-6)


def test_what_all_replicas_share_counts_once_for_each(session, strategy):
    with strategy.scope():
        rows = tf.constant([1.0, 2.0])
        made = [
            strategy.reduce(*given)
            for given in (("SUM", rows), ("SUM", rows, 0), ("MEAN", rows), ("MEAN", rows, 0))
        ]
    found = session.run(made)
    assert found[0].tolist() == [2.0, 4.0] and found[1] == 6.0
    assert found[2].tolist() == [1.0, 2.0] and found[3] == 1.5


def test_what_is_on_read_is_reduced_by_its_copies(session, strategy):
    with strategy.scope():
        kinds = [
            tf.Variable(0.0, synchronization=ON_READ, aggregation=way)
            for way in (tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN)
        ]
        update = strategy.run(lambda: tf.group(*[v.assign_add(number() + 1.0) for v in kinds]))
        made = [strategy.reduce(op, v) for v in kinds for op in ("SUM", "MEAN")]
    session.run(tf.global_variables_initializer())
    session.run(strategy.group(update))
    assert session.run(made) == [3.0, 1.5] * 2


def test_arguments_by_scope_hold_in_all_replicas(session, strategy):
    layers = tf.contrib.layers
    ones = {"activation_fn": None, "weights_initializer": tf.ones_initializer()}
    with strategy.scope(), tf.contrib.framework.arg_scope([layers.fully_connected], **ones):
        made = strategy.run(lambda: layers.fully_connected(tf.constant([[-1.0]]), 1))
    session.run(tf.global_variables_initializer())
    assert session.run(list(made.values)) == [[[-1.0]], [[-1.0]]]


@pytest.mark.parametrize("is_shared", [True, False])
def test_variables_are_averaged_in_replicas(session, strategy, is_shared):
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        shared = tf.train.ExponentialMovingAverage(0.5)

        def replica():
            averages = shared if is_shared else tf.train.ExponentialMovingAverage(0.5)
            trained = tf.train.GradientDescentOptimizer(1.0).minimize(v * 1.0)
            with tf.control_dependencies([trained]):
                return averages.apply([v])

        train = strategy.group(strategy.run(replica))
        variables = tf.global_variables()
    assert [each.op.name for each in variables] == ["v", "v/ExponentialMovingAverage"]
    session.run(tf.global_variables_initializer())
    session.run(train)
    copies_are(session, variables[0], -1.0)
    copies_are(session, variables[1], 0.0)


def test_tensors_are_averaged_by_the_mean_of_all_replicas(session, strategy):
    from millrace._train.moving_averages import assign_moving_average

    with strategy.scope():
        plain, debiased = (tf.Variable(0.0, trainable=False, name=name) for name in "ab")

        def replica():
            value = 4.0 * number()
            return tf.group(
                assign_moving_average(plain, value, 0.75, zero_debias=False),
                assign_moving_average(debiased, value, 0.75, zero_debias=True),
            )

        update = strategy.group(strategy.run(replica))
    session.run(tf.global_variables_initializer())
    session.run(update)
    copies_are(session, plain, 0.5)
    copies_are(session, debiased, 2.0)


def test_layers_of_keras_have_one_name_in_all_replicas(session, strategy):
    with strategy.scope():

        def replica():
            hidden = tf.keras.layers.Dense(3, name="hidden")(tf.ones([1, 2]))
            made = tf.keras.layers.Dense(1)(tf.keras.layers.Dense(2)(hidden))
            return tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(made)), made

        train, made = strategy.run(replica)
        after = tf.keras.layers.Dense(1)
    names = [
        f"{name}/{part}" for name in ("hidden", "dense", "dense_1") for part in ("kernel", "bias")
    ]
    assert sorted(v.op.name for v in tf.trainable_variables()) == sorted(names)
    assert after.name == "dense_2"
    session.run(tf.global_variables_initializer())
    first, second = session.run(list(made.values))
    assert first == second
    session.run(strategy.group(train))
    for variable in tf.trainable_variables():
        copies_are(session, variable, session.run(variable.copies[0]))


def named(regularizer):
    return tf.get_variable("v", initializer=[1.0], regularizer=regularizer)


def of_a_layer(regularizer):
    one = tf.ones_initializer()
    tf.layers.dense(
        tf.ones([1, 1]), 1, use_bias=False, kernel_initializer=one, kernel_regularizer=regularizer
    )


def of_keras(regularizer):
    layer = tf.keras.layers.Dense(
        1, use_bias=False, kernel_initializer="ones", kernel_regularizer=regularizer
    )
    layer(tf.ones([1, 1]))
    return layer.losses


@pytest.mark.parametrize("make", [named, of_a_layer, of_keras])
def test_each_replica_regularizes_its_own_copy(session, strategy, make):
    with strategy.scope():

        def replica():
            made = make(lambda w: 0.5 * tf.reduce_sum(w * w))
            losses = made if isinstance(made, list) else tf.losses.get_regularization_losses()
            assert len(losses) == 1 and losses[0].shape == []
            loss = tf.add_n(losses) + losses[0] * 2.0
            return tf.train.GradientDescentOptimizer(0.125).minimize(loss), losses[0]

        train, losses = strategy.run(replica)
        (v,) = tf.trainable_variables()
    session.run(tf.global_variables_initializer())
    assert session.run(strategy.experimental_local_results(losses)[0]) == 0.5
    session.run(strategy.group(train))
    copies_are(session, v, session.run(v) * 0 + 1 - 2 * 0.125 * 3)


def test_two_optimizers_of_one_name_have_slots_of_their_own(session, strategy):
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)

        def replica():
            return tf.group(*[tf.train.AdamOptimizer(0.1).minimize(v * 1.0) for _ in range(2)])

        replicated = [strategy.run(replica), strategy.run(replica)]
        names = [each.op.name for each in tf.global_variables() if "v/" in each.op.name]
    assert names == ["v/Adam"] + [f"v/Adam_{n}" for n in range(1, 8)]
    session.run(tf.global_variables_initializer())
    session.run([strategy.group(each) for each in replicated])
    copies_are(session, v, session.run(v.copies[0]))


def test_weights_decay_that_are_named_in_all_replicas(session, strategy):
    with strategy.scope():
        decayed, kept = (tf.get_variable(name, initializer=1.0) for name in ("decayed", "kept"))
        optimizer = tf.contrib.opt.MomentumWOptimizer(0.25, 0.0, 0.0)
        train = strategy.run(lambda: optimizer.minimize(decayed + kept, decay_var_list=[decayed]))
    session.run(tf.global_variables_initializer())
    session.run(strategy.group(train))
    copies_are(session, decayed, 0.75)
    copies_are(session, kept, 1.0)


def test_what_shapes_all_variables_together_does_so_for_all_copies(session, strategy):
    def trained(sess, minimize):
        a = tf.get_variable("a", initializer=[1.0, 2.0])
        b = tf.get_variable("b", initializer=1.0)
        optimizer = tf.contrib.opt.GGTOptimizer(0.1, window=2)
        train = minimize(optimizer, tf.reduce_sum(a * a) + b)
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train)
        return a, b

    with tf.Graph().as_default(), tf.Session() as alone:
        expected = alone.run(trained(alone, lambda optimizer, loss: optimizer.minimize(loss)))
    with strategy.scope():

        def together(optimizer, loss):
            return strategy.group(strategy.run(lambda: optimizer.minimize(loss_of() / 2.0)))

        def loss_of():
            a, b = tf.trainable_variables()
            return tf.reduce_sum(a * a) + b

        for variable, value in zip(trained(session, together), expected):
            copies_are(session, variable, value)


def test_parts_of_a_variable_come_back_to_all_copies(session, strategy, tmp_path):
    with strategy.scope():
        whole = tf.get_variable(
            "whole",
            [4, 2],
            partitioner=tf.fixed_size_partitioner(2),
            initializer=tf.ones_initializer(),
        )
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        assert tf.train.list_variables(path) == [("whole", [4, 2])]
        session.run([part.assign(part * 5.0) for part in whole])
        saver.restore(session, path)
        for part in whole:
            copies_are(session, part, np.ones([2, 2]))


def test_a_value_of_another_shape_is_not_restored(session, strategy, tmp_path):
    with tf.Graph().as_default(), tf.Session() as before:
        before.run(tf.get_variable("v", [3]).initializer)
        path = tf.train.Saver().save(before, str(tmp_path / "model"))
    with strategy.scope():
        tf.get_variable("v", [2])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
            tf.train.Saver().restore(session, path)


def test_rows_of_sparse_batches_are_taken_apart(session, strategy):
    sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 2])
    dataset = tf.data.Dataset.from_tensors(sparse)
    with strategy.scope():
        parts = strategy.experimental_distribute_dataset(dataset).make_one_shot_iterator()
        found = session.run([tf.sparse.to_dense(part) for part in parts.get_next().values])
    assert [part.tolist() for part in found] == [[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0]]]


def test_a_function_that_goes_on_when_it_is_given_up_gets_no_further_turn(strategy):
    seen = []

    def replica():
        context = tf.distribute.get_replica_context()
        try:
            context.merge_call(lambda _: 1 / 0)
        finally:
            try:
                context.merge_call(seen.append)
            finally:
                seen.append("ended")

    with pytest.raises(ZeroDivisionError):
        strategy.run(replica)
    assert seen == ["ended"] * 2

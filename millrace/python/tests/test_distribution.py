"""tf.distribute: replicas on devices of one task, their variables, and what they make together."""

import numpy as np
import pytest

import millrace as tf

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
Y = (X @ [[1.0], [-2.0], [0.5]] + 0.3).astype(np.float32)


def session(count=2):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": count}))


def two():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def central():
    return tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0")


OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}


def loss_of(x, y, rows):
    made = tf.layers.dense(x, 4, tf.nn.tanh, name="hidden")
    made = tf.layers.dense(made, 1, name="out")
    return tf.reduce_sum(tf.square(made - y)) / rows


def weights(sess):
    return {v.op.name: sess.run(v) for v in tf.trainable_variables()}


def trained_alone(optimizer, steps):
    with tf.Graph().as_default(), session() as sess:
        tf.set_random_seed(3)
        train = OPTIMIZERS[optimizer]().minimize(loss_of(X, Y, 8.0))
        sess.run(tf.global_variables_initializer())
        before = weights(sess)
        for _ in range(steps):
            sess.run(train)
        return before, weights(sess)


def trained_by(strategy, optimizer, begin, steps):
    with tf.Graph().as_default(), session() as sess, strategy.scope():
        step = tf.train.create_global_step()
        iterator = strategy.make_dataset_iterator(
            tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(8, drop_remainder=True)
        )

        def replica(inputs):
            loss = loss_of(*inputs, 8.0)
            return OPTIMIZERS[optimizer]().minimize(loss, global_step=step), loss

        train, losses = strategy.experimental_run_v2(replica, args=(iterator.get_next(),))
        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
        sess.run([iterator.initialize(), tf.global_variables_initializer()])
        for variable in tf.trainable_variables():
            variable.load(begin[variable.op.name], sess)
        fetches = [strategy.group(train), loss]
        losses = [sess.run(fetches)[1] for _ in range(steps)]
        assert np.isfinite(losses).all()
        assert sess.run(step) == steps
        for variable in tf.global_variables():
            copies = sess.run(list(getattr(variable, "copies", [variable])))
            assert all(np.array_equal(copies[0], copy) for copy in copies), variable
        return weights(sess)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_two_replicas_train_as_one_process_with_the_whole_batch(optimizer):
    begin, alone = trained_alone(optimizer, 5)
    for strategy in (two(), central()):
        together = trained_by(strategy, optimizer, begin, 5)
        assert together.keys() == alone.keys()
        for name in alone:
            np.testing.assert_allclose(together[name], alone[name], rtol=2e-5, atol=1e-6)


@pytest.fixture(params=[two, central], ids=["mirrored", "central"])
def strategy(request):
    return request.param()


def test_a_function_is_called_for_each_replica_with_its_part():
    strategy = two()
    with session() as sess, strategy.scope():
        made = strategy.experimental_run_v2(
            lambda: tf.distribute.get_replica_context().replica_id_in_sync_group
        )
        both = strategy.experimental_run_v2(lambda number, ten: number + ten, (made, 10))
        assert sess.run(strategy.experimental_local_results(both)) == (10, 11)
        assert [value.device[-5:] for value in made.values] == ["CPU:0", "CPU:1"]
        assert strategy.num_replicas_in_sync == 2


def test_a_single_replica_gives_what_its_function_gives():
    for one in (
        tf.distribute.OneDeviceStrategy("/cpu:0"),
        tf.distribute.MirroredStrategy(),
        tf.distribute.get_strategy(),
    ):
        with one.scope():
            assert one.run(lambda x: (x, {"a": 1}), args=(5,)) == (5, {"a": 1})
            assert one.num_replicas_in_sync == 1


def test_contexts_say_where_the_program_is():
    assert not tf.distribute.has_strategy()
    assert tf.distribute.get_replica_context() is not None
    strategy, seen = two(), []

    def replica():
        context = tf.distribute.get_replica_context()
        assert tf.distribute.get_strategy() is strategy and context.strategy is strategy
        assert not tf.distribute.in_cross_replica_context()
        context.merge_call(lambda given: seen.append(tf.distribute.in_cross_replica_context()))

    with strategy.scope():
        assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None
        strategy.run(replica)
    assert seen == [True]
    assert not tf.distribute.has_strategy()


def test_merge_call_sees_all_replicas_and_answers_each():
    strategy = two()

    def merge(given, values, factor):
        assert given is strategy and factor == 10
        return type(values)([factor * v for v in values.values])

    def replica():
        context = tf.distribute.get_replica_context()
        own = tf.constant(float(context.local_replica + 1))
        return context.merge_call(merge, args=(own,), kwargs={"factor": 10}) + 1.0

    with session() as sess:
        made = strategy.run(replica)
        assert sess.run(strategy.experimental_local_results(made)) == (11.0, 21.0)


def test_what_a_merge_makes_waits_for_what_each_replica_waits_for(strategy):
    with session() as sess, strategy.scope():
        first = tf.Variable(0.0, name="first", aggregation=tf.VariableAggregation.SUM)
        second = tf.Variable(0.0, name="second")

        def replica():
            context = tf.distribute.get_replica_context()
            with tf.control_dependencies([first.assign_add(1.0)]):
                return context.merge_call(lambda _: second.assign(first.read_value()).op)

        train = strategy.run(replica)
        sess.run(tf.global_variables_initializer())
        sess.run(strategy.group(train))
        assert sess.run([first, second]) == [2.0, 2.0]


def test_replicas_that_do_not_meet_are_told_and_leave_the_graph_as_it_was():
    strategy = two()

    def replica():
        context = tf.distribute.get_replica_context()
        with tf.name_scope("inside"), tf.variable_scope("vars"):
            if context.local_replica == 0:
                context.merge_call(lambda _: None)

    with pytest.raises(RuntimeError, match="1 of 2 replicas came to a merge_call"):
        strategy.run(replica)
    assert tf.constant(1, name="c").op.name == "c"
    assert tf.get_variable("v", []).op.name == "v"

    def failing():
        tf.distribute.get_replica_context().merge_call(lambda _: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        strategy.run(failing)
    assert not tf.distribute.has_strategy()


def test_variables_have_one_name_and_a_copy_on_each_device():
    strategy = two()
    with session() as sess, strategy.scope():

        def replica():
            a = tf.get_variable("a", initializer=tf.random_uniform([3]))
            b = tf.Variable(2.0, name="b")
            return a + b

        made = strategy.run(replica)
        c = tf.Variable(3.0, name="c", trainable=False)
        assert [v.op.name for v in tf.global_variables()] == ["a", "b", "c"]
        assert [v.op.name for v in tf.trainable_variables()] == ["a", "b"]
        assert strategy.extended.variable_created_in_scope(c)
        sess.run(tf.global_variables_initializer())
        first, second = sess.run(strategy.experimental_local_results(made))
        assert np.array_equal(first, second)
        copies = tf.global_variables()[0].copies
        assert [copy.device[-5:] for copy in copies] == ["CPU:0", "CPU:1"]
        assert [copy.op.name for copy in copies] == ["a", "a/replica_1"]


def test_replicas_join_what_they_assign_as_the_variable_says(strategy):
    Aggregation = tf.VariableAggregation
    expected = {
        Aggregation.SUM: 3.0,
        Aggregation.MEAN: 1.5,
        Aggregation.ONLY_FIRST_REPLICA: 1.0,
    }
    with session() as sess, strategy.scope():
        made = {way: tf.Variable(0.0, aggregation=way, name=way.name.lower()) for way in expected}
        plain = tf.Variable(0.0)

        def replica():
            own = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            return [variable.assign_add(own + 1.0) for variable in made.values()]

        updates = strategy.run(replica)
        sess.run(tf.global_variables_initializer())
        sess.run([strategy.experimental_local_results(each) for each in updates])
        for way, variable in made.items():
            assert sess.run(list(variable.copies)) == [expected[way]] * len(variable.copies)
        sess.run(plain.assign(5.0))
        assert sess.run(list(plain.copies)) == [5.0] * len(plain.copies)
        with pytest.raises(ValueError, match="must specify an aggregation method"):
            strategy.run(lambda: plain.assign(1.0))


def test_variables_that_are_on_read_are_each_replicas_own(tmp_path):
    strategy = two()
    with session() as sess, strategy.scope():
        kinds = {
            name: tf.get_variable(
                name,
                [],
                initializer=tf.zeros_initializer(),
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=getattr(tf.VariableAggregation, name.upper()),
            )
            for name in ("sum", "mean")
        }

        def replica():
            own = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            return tf.group(*[each.assign_add(own + 1.0) for each in kinds.values()])

        updates = strategy.group(strategy.run(replica))
        together = [tf.identity(kinds["sum"]), tf.identity(kinds["mean"])]
        assert tf.trainable_variables() == []
        saver = tf.train.Saver()
        sess.run(tf.global_variables_initializer())
        sess.run(updates)
        assert sess.run(list(kinds["sum"].copies)) == [1.0, 2.0]
        assert sess.run(together) == [3.0, 1.5]
        path = saver.save(sess, str(tmp_path / "model"))
        assert sorted(tf.train.list_variables(path)) == [("mean", []), ("sum", [])]
        sess.run(updates)
        saver.restore(sess, path)
        assert sess.run(together) == [3.0, 1.5]
        assert sess.run(list(kinds["sum"].copies)) == [3.0, 0.0]


def test_a_checkpoint_is_one_programs_whatever_trained_it(tmp_path):
    def model():
        loss = tf.square(tf.get_variable("w", [], initializer=tf.ones_initializer()) - 3.0)
        return tf.train.AdamOptimizer(0.1).minimize(loss)

    with tf.Graph().as_default(), session() as sess, two().scope():
        strategy = tf.distribute.get_strategy()
        train = strategy.group(strategy.run(model))
        sess.run(tf.global_variables_initializer())
        sess.run([train])
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        expected = [sess.run(v) for v in sorted(tf.global_variables(), key=lambda v: v.name)]
    with tf.Graph().as_default(), session() as sess:
        model()
        tf.train.Saver().restore(sess, path)
        variables = sorted(tf.global_variables(), key=lambda v: v.name)
        assert [sess.run(v) for v in variables] == expected
        names = [name for name, _ in tf.train.list_variables(path)]
        assert sorted(names) == sorted(v.op.name for v in variables)
    with tf.Graph().as_default(), session() as sess, two().scope():
        strategy = tf.distribute.get_strategy()
        strategy.run(model)
        tf.train.Saver().restore(sess, path)
        for value, variable in zip(expected, sorted(tf.global_variables(), key=lambda v: v.name)):
            assert sess.run(list(variable.copies)) == [value, value]


def test_slices_of_gradients_add_up(strategy):
    with session() as sess, strategy.scope():
        table = tf.get_variable("table", initializer=tf.zeros([4, 2]))

        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            loss = tf.reduce_sum(tf.gather(table, tf.stack([number, 3])))
            return tf.train.GradientDescentOptimizer(1.0).minimize(loss)

        train = strategy.group(strategy.run(replica))
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        for copy in table.copies:
            assert sess.run(copy)[:, 0].tolist() == [-1.0, -1.0, 0.0, -2.0]


def test_reduce_brings_replicas_and_rows_together():
    strategy = two()
    with session() as sess, strategy.scope():
        rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

        def replica(part):
            return rows[:2] if tf.distribute.get_replica_context().local_replica else rows[2:]

        made = strategy.run(replica, (0,))
        assert sess.run(strategy.reduce("sum", made, axis=0)).tolist() == [9.0, 12.0]
        assert sess.run(strategy.reduce("MEAN", made, axis=0)).tolist() == [3.0, 4.0]
        scalars = strategy.run(lambda x: tf.reduce_sum(x), (made,))
        assert sess.run(strategy.reduce(tf.distribute.ReduceOp.MEAN, scalars)) == 10.5
        with pytest.raises(ValueError, match="SUM or MEAN"):
            strategy.reduce("max", scalars)


def test_all_reduce_in_a_replica_and_its_gradient():
    strategy = two()
    with session() as sess, strategy.scope():
        w = tf.Variable(2.0, name="w")

        def replica():
            context = tf.distribute.get_replica_context()
            own = w * (context.local_replica + 1.0)
            total = context.all_reduce("sum", own)  # 3 w, in both
            (gradient,) = tf.gradients(tf.square(total), [w])
            return total, gradient

        totals, gradients = strategy.run(replica)
        sess.run(tf.global_variables_initializer())
        assert sess.run(list(totals.values)) == [6.0, 6.0]
        # Of both losses together: 2 * (3 w) ** 2 has 36 w, of which the second copy's share is two thirds.
        assert sess.run(list(gradients.values)) == [24.0, 48.0]


def test_a_batch_is_taken_apart_and_elements_are_taken_in_turn():
    strategy = two()
    with session() as sess, strategy.scope():
        dataset = tf.data.Dataset.range(10).batch(5).map(lambda x: {"x": x})
        split = strategy.experimental_distribute_dataset(dataset).make_one_shot_iterator()
        turns = strategy.make_input_fn_iterator(
            lambda context: tf.data.Dataset.range(5).batch(context.get_per_replica_batch_size(2))
        )
        sess.run(turns.initialize())
        parts, each = split.get_next()["x"].values, turns.get_next().values
        assert [p.tolist() for p in sess.run(list(parts))] == [[0, 1, 2], [3, 4]]
        assert [p.tolist() for p in sess.run(list(parts))] == [[5, 6, 7], [8, 9]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(list(parts))
        assert [p.tolist() for p in sess.run(list(each))] == [[0], [1]]
        assert [p.tolist() for p in sess.run(list(each))] == [[2], [3]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(list(each))


def test_batch_normalization_keeps_averages_per_replica_and_saves_their_mean():
    strategy = two()
    with session() as sess, strategy.scope():

        def replica():
            number = tf.distribute.get_replica_context().local_replica
            made = tf.layers.batch_normalization(
                tf.constant([[0.0], [4.0 * (number + 1)]]), training=True, momentum=0.5
            )
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                return tf.train.GradientDescentOptimizer(0.0).minimize(tf.reduce_sum(made))

        train = strategy.group(strategy.run(replica))
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        (mean,) = [v for v in tf.global_variables() if "moving_mean" in v.op.name]
        assert sess.run(list(mean.copies)) == [[1.0], [2.0]]
        assert sess.run(tf.identity(mean)) == [1.5]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.distribute.ReductionToOneDevice("/cpu:0"),
        lambda: tf.distribute.HierarchicalCopyAllReduce(),
    ],
)
def test_values_are_added_up_as_the_program_says(make):
    devices = [f"/cpu:{n}" for n in range(3)]
    strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=make())
    with session(3) as sess, strategy.scope():
        made = strategy.run(
            lambda: tf.constant([1.0]) * (tf.distribute.get_replica_context().local_replica + 1)
        )
        assert sess.run(strategy.reduce("SUM", made)).tolist() == [6.0]
        assert sess.run(strategy.reduce("MEAN", made)).tolist() == [2.0]


def test_scopes_do_not_mix_and_gradients_belong_into_replicas():
    strategy = two()
    with strategy.scope():
        with strategy.scope():
            pass
        with pytest.raises(RuntimeError, match="Mixing different"):
            with central().scope():
                pass
        v = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="apply_gradients belongs into a replica"):
            tf.train.GradientDescentOptimizer(1.0).minimize(v * 2.0)
        with pytest.raises(RuntimeError, match="above all replicas"):
            strategy.run(lambda: strategy.reduce("SUM", 1.0))
    tf.distribute.experimental_set_strategy(strategy)
    assert tf.distribute.get_strategy() is strategy
    tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()


def test_what_there_is_not_says_so():
    for make in (
        lambda: tf.distribute.NcclAllReduce(),
        lambda: tf.distribute.experimental.TPUStrategy(None),
        lambda: tf.distribute.cluster_resolver.GCEClusterResolver("p", "z", "g", 1),
    ):
        with pytest.raises(NotImplementedError, match="here"):
            make()
    for devices in ([], ["/gpu:0"], ["/cpu:0", "/cpu:0"], "/cpu:0"):
        with pytest.raises(ValueError):
            tf.distribute.MirroredStrategy(devices)
    with pytest.raises(ValueError, match="no GPUs|CPU devices alone"):
        tf.contrib.distribute.MirroredStrategy(num_gpus=2)

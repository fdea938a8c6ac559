"""TensorFlow's own client and its tf.data, in sessions on a server of ours: it sends the datasets' nodes."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def drained(session, following):
    seen = []
    with pytest.raises(tf1.errors.OutOfRangeError):
        while True:
            seen.append(session.run(following))
    return seen


def test_a_pipeline_of_the_client_runs_from_end_to_end(target, graph):
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    dataset = (
        tf1.data.Dataset.from_tensor_slices((x, np.arange(6)))
        .map(lambda row, n: (row * 2, n))
        .shuffle(10, seed=5)
        .batch(4)
        .repeat(2)
        .prefetch(2)
    )
    following = tf1.data.make_one_shot_iterator(dataset).get_next()
    with tf1.Session(target) as session:
        batches = drained(session, following)
    assert [len(numbers) for _, numbers in batches] == [4, 2, 4, 2]
    for rows, numbers in batches:
        np.testing.assert_array_equal(rows, 2 * x[numbers])
    assert sorted(np.concatenate([numbers for _, numbers in batches])) == sorted([*range(6)] * 2)


def test_a_fed_dataset_begins_anew_with_its_initializer(target, graph):
    limit = tf1.placeholder(tf.int64, [])
    dataset = tf1.data.Dataset.range(limit).filter(lambda n: n % 2 < 1).map(lambda n: n + limit)
    iterator = tf1.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    with tf1.Session(target) as session:
        with pytest.raises(tf1.errors.FailedPreconditionError, match="not been initialized"):
            session.run(following)
        for value in (5, 2):
            session.run(iterator.initializer, {limit: value})
            assert drained(session, following) == [n + value for n in range(0, value, 2)]


def test_a_string_handle_chooses_between_iterators(target, graph):
    D = tf1.data.Dataset
    handle = tf1.placeholder(tf.string, [])
    following = tf1.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    first = tf1.data.make_one_shot_iterator(D.range(3))
    second = tf1.data.make_one_shot_iterator(
        D.range(10, 13).interleave(lambda n: D.from_tensors(n).repeat(2), cycle_length=2)
    )
    with tf1.Session(target) as session:
        handles = session.run([first.string_handle(), second.string_handle()])
        seen = [int(session.run(following, {handle: handles[i]})) for i in (0, 1, 1, 0, 1)]
    assert seen == [0, 10, 11, 1, 10]


def test_what_a_function_of_a_dataset_fails_with_reaches_the_client(target, graph):
    dataset = tf1.data.Dataset.range(3).map(
        lambda n: tf1.check_numerics(1.0 / tf.cast(n - 1, tf.float32), "sad")
    )
    following = tf1.data.make_one_shot_iterator(dataset).get_next()
    with tf1.Session(target) as session:
        assert session.run(following) == -1.0
        with pytest.raises(tf1.errors.InvalidArgumentError, match="sad"):
            session.run(following)
        assert session.run(following) == 1.0


def test_padded_batches_windows_and_reductions_of_the_client(target, graph):
    D = tf1.data.Dataset
    ragged = D.range(4).map(lambda n: tf.fill([n], n)).padded_batch(2, [None])
    windows = D.range(5).window(2, drop_remainder=True).flat_map(lambda window: window.batch(2))
    total = D.range(10).reduce(np.int64(0), lambda state, n: state + n)
    both = [tf1.data.make_one_shot_iterator(each).get_next() for each in (ragged, windows)]
    with tf1.Session(target) as session:
        assert [batch.tolist() for batch in drained(session, both[0])] == [
            [[0], [1]],
            [[2, 2, 0], [3, 3, 3]],
        ]
        assert [window.tolist() for window in drained(session, both[1])] == [[0, 1], [2, 3]]
        assert session.run(total) == 45


def numbers_in_random_order():
    dataset = tf1.data.Dataset.range(40).shuffle(7).map(lambda n: n * 2).prefetch(2).repeat(2)
    iterator = tf1.data.make_initializable_iterator(dataset)
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    tf1.add_to_collection(tf1.GraphKeys.SAVEABLE_OBJECTS, saveable)
    return iterator.initializer, iterator.get_next(), tf1.train.Saver()


def test_an_iterator_goes_on_from_a_checkpoint_where_it_was(target, tmp_path):
    with tf1.Graph().as_default(), tf1.Session(target) as session:
        initializer, following, saver = numbers_in_random_order()
        session.run(initializer)
        before = [int(session.run(following)) for _ in range(25)]
        path = saver.save(session, str(tmp_path / "model"))
        after = drained(session, following)
    assert sorted(before + after) == sorted(2 * n for n in [*range(40)] * 2)
    with tf1.Graph().as_default(), tf1.Session(target) as session:
        initializer, following, saver = numbers_in_random_order()
        session.run(initializer)
        session.run(following)
        saver.restore(session, path)
        assert drained(session, following) == after


def test_variants_lie_in_checkpoints_as_tensorflow_lays_them(target, graph, tmp_path):
    held = tf.raw_ops.TensorListFromTensor(
        tensor=[1.0, 2.0, 3.0], element_shape=tf.constant([], tf.int32)
    )

    def saved(prefix):
        return tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=["a", "b"], shape_and_slices=["", ""], tensors=[held, 7]
        )

    def restored(prefix):
        handle, seven = tf.raw_ops.RestoreV2(
            prefix=prefix,
            tensor_names=["a", "b"],
            shape_and_slices=["", ""],
            dtypes=[tf.variant, tf.int32],
        )
        values = tf.raw_ops.TensorListStack(
            input_handle=handle, element_shape=tf.constant([], tf.int32), element_dtype=tf.float32
        )
        return values, seven

    by_us, by_them = str(tmp_path / "ours"), str(tmp_path / "theirs")
    with tf1.Session(target) as ours, tf1.Session() as theirs:
        ours.run(saved(by_us))
        theirs.run(saved(by_them))
        for session, prefix in ((theirs, by_us), (ours, by_them)):
            values, seven = session.run(restored(prefix))
            assert values.tolist() == [1, 2, 3] and seven == 7

"""Datasets and iterators: structures, functions and what they capture, iterators, and what is refused."""

import collections
import threading

import numpy as np
import pytest

import millrace as tf

Dataset = tf.data.Dataset
Pair = collections.namedtuple("Pair", "left right")


def drained(session, following):
    seen = []
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        while True:
            seen.append(session.run(following))
    return seen


def all_of(dataset):
    """The elements of a dataset, by a one-shot iterator."""
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        return drained(session, following)


def test_elements_have_the_structure_of_what_they_were_made_of():
    x = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    dataset = Dataset.from_tensor_slices(Pair({"b": x, "a": [1, 2, 3]}, ("x", "y", "z")[0:0] or x))
    assert dataset.output_types == Pair({"b": tf.float32, "a": tf.int32}, tf.float32)
    assert dataset.output_shapes.left["b"].as_list() == [2]
    first, *_ = all_of(dataset)
    assert isinstance(first, Pair)
    assert first.left["a"] == 1
    np.testing.assert_array_equal(first.right, x[0])


def test_what_a_function_checks_in_a_loop_fails_the_step():
    def halved(x):
        def body(x):
            with tf.control_dependencies([tf.Assert(x < 100, ["too large", x])]):
                return x // 2

        return tf.while_loop(lambda x: x % 2 < 1, body, [x])

    numbers = Dataset.from_tensor_slices([12, 7])
    assert all_of(numbers.map(halved)) == [3, 7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        all_of(numbers.map(lambda x: halved(x * 20)))


def test_slices_of_several_sizes_are_refused_when_they_are_made():
    with pytest.raises(ValueError, match="not compatible"):
        Dataset.from_tensor_slices((np.ones(2), np.ones(3)))
    with pytest.raises(ValueError, match="rank >= 1"):
        Dataset.from_tensor_slices(3)


def test_a_tutorial_trains_from_a_fed_dataset():
    x = np.linspace(-1, 1, 100)[:, None]
    fed_x, fed_y = tf.placeholder(x.dtype, x.shape), tf.placeholder(x.dtype, x.shape)
    dataset = Dataset.from_tensor_slices((fed_x, fed_y)).shuffle(100).batch(32).repeat(3)
    iterator = dataset.make_initializable_iterator()
    bx, by = iterator.get_next()
    w = tf.get_variable("w", [], tf.float64, initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(bx * w - by))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(
            [iterator.initializer, tf.global_variables_initializer()], {fed_x: x, fed_y: 3 * x}
        )
        steps = len(drained(session, train))
        assert steps == 3 * 4
        assert session.run(w) > 1.5


def test_functions_read_tensors_and_variables_from_outside():
    scale = tf.placeholder(tf.int64, [])
    variable = tf.get_variable("v", dtype=tf.int64, initializer=np.int64(100), use_resource=True)
    numbers = tf.constant([7, 8, 9], tf.int64)
    dataset = Dataset.range(3).map(lambda n: n * scale + variable + numbers[n])
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(iterator.initializer, {scale: 10})
        assert session.run(following) == 107
        # A variable is read when the function is called.
        session.run(variable.assign(200))
        assert session.run(following) == 10 + 200 + 8


def test_functions_inside_functions_read_through_both():
    outer = tf.constant(1000, tf.int64)
    dataset = Dataset.range(2).flat_map(
        lambda n: Dataset.range(2).map(lambda m: outer + n * 10 + m)
    )
    assert all_of(dataset) == [1000, 1001, 1010, 1011]


def test_a_function_gets_the_parts_of_a_tuple_and_dictionaries_whole():
    both = Dataset.zip((Dataset.range(2), {"x": Dataset.range(5, 9)}))
    assert all_of(both.map(lambda n, rest: n + rest["x"])) == [5, 7]
    assert all_of(Dataset.range(2).map(lambda n: [n, n + 1]))[1].tolist() == [1, 2]


def test_python_functions_are_called_for_each_element():
    seen = []

    def note(n):
        seen.append(int(n))
        return np.float32(n / 2)

    dataset = Dataset.range(3).map(
        lambda n: tf.py_func(note, [n], tf.float32), num_parallel_calls=2
    )
    assert all_of(dataset) == [0, 0.5, 1]
    assert sorted(seen) == [0, 1, 2]


def test_a_generator_is_asked_anew_in_each_walk_and_may_fail():
    calls = []

    def numbers():
        calls.append(1)
        yield from ([1, 2], [3, 4])

    dataset = Dataset.from_generator(numbers, tf.float32, [2])
    assert [row.tolist() for row in all_of(dataset.repeat(2))] == [[1, 2], [3, 4]] * 2
    assert len(calls) == 2
    wrong = Dataset.from_generator(lambda: iter([[1, 2, 3]]), tf.float32, [2])
    following = wrong.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="of shape \\(3,\\)"):
            session.run(following)


def test_a_step_that_waits_for_an_element_ends_when_its_time_is_over():
    gate = threading.Event()

    def wait():
        gate.wait(30)
        return np.int64(1)

    dataset = Dataset.range(2).map(lambda n: n + tf.py_func(wait, [], tf.int64))
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        try:
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(following, options=tf.RunOptions(timeout_in_ms=100))
        finally:
            gate.set()
        # What was on its way went to nobody: the next step gets it.
        assert session.run(following) == 1
        assert session.run(following) == 2


def test_an_iterator_of_a_structure_takes_datasets_that_fit():
    iterator = tf.data.Iterator.from_structure((tf.int64, tf.float32), ([], [None]))
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(Dataset.from_tensors((1.0, [2.0])))
    with pytest.raises(TypeError, match="output shapes"):
        iterator.make_initializer(Dataset.from_tensors((np.int64(1), 2.0)))
    with pytest.raises(ValueError, match="does not have an initializer"):
        iterator.initializer
    begin = iterator.make_initializer(Dataset.from_tensors((np.int64(1), [2.0, 3.0])))
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(begin)
        number, row = session.run(following)
        assert (number, row.tolist()) == (1, [2.0, 3.0])


def test_a_one_shot_iterator_refuses_what_it_would_have_to_copy():
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        Dataset.from_tensors(tf.placeholder(tf.int32, [])).make_one_shot_iterator()
    variable = tf.get_variable("v", dtype=tf.int32, initializer=1, use_resource=True)
    with pytest.raises(ValueError, match="Cannot capture a stateful node"):
        Dataset.range(3).map(lambda n: tf.cast(n, tf.int32) + variable).make_one_shot_iterator()


def test_files_that_are_not_there_fail_in_the_step(tmp_path):
    following = tf.data.TextLineDataset(str(tmp_path / "none")).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError):
            session.run(following)
    pattern = str(tmp_path / "*.txt")
    listed = Dataset.list_files(pattern).make_initializable_iterator()
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
            session.run(listed.initializer)


def test_a_long_file_comes_line_by_line_with_prefetch(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("\n".join(map(str, range(5000))))
    dataset = tf.data.TextLineDataset(str(path)).map(tf.string_to_number).prefetch(8).batch(1000)
    assert [batch[0] for batch in all_of(dataset)] == [0, 1000, 2000, 3000, 4000]


def test_an_exported_graph_brings_the_functions_of_its_datasets():
    following = Dataset.range(3).map(lambda n: n + 1).make_one_shot_iterator().get_next()
    name, definition = following.name, tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        with tf.Session(graph=graph) as session:
            assert session.run(name) == 1


def test_what_contrib_and_experimental_name_is_the_same():
    assert tf.contrib.data.group_by_window is tf.data.experimental.group_by_window
    assert tf.compat.v1.data.Dataset is Dataset
    with pytest.raises(ValueError, match="window_size"):
        tf.contrib.data.group_by_window(None, None)


def test_options_are_kept_and_merged():
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_threading.private_threadpool_size = 3
    dataset = Dataset.range(2).with_options(options).map(lambda n: n)
    assert dataset.options().experimental_deterministic is False
    assert dataset.options().experimental_threading.private_threadpool_size == 3
    assert all_of(dataset) == [0, 1]

"""tf.py_func: Python functions in a graph."""

import gc
import threading

import numpy as np
import pytest

import millrace as tf


def test_a_function_gets_arrays_and_gives_what_the_rest_computes_with():
    seen = []

    def scaled(x, factor, text):
        seen.append((x.dtype, type(factor), text))
        return x * factor, text + b"!", np.int64(x.size)

    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.py_func(
            scaled,
            [tf.constant([1.0, 2.0]), tf.constant(3.0), tf.constant("a")],
            [tf.float32, tf.string, tf.int64],
        )
        assert [tensor.dtype for tensor in made] == [tf.float32, tf.string, tf.int64]
        assert made[0].shape.ndims is None and made[0].op.type == "PyFunc"
        values, text, size = session.run([made[0] + 1.0, made[1], made[2]])
    np.testing.assert_array_equal(values, [4, 7])
    assert (text, size) == (b"a!", 2)
    assert seen == [(np.float32, np.float32, b"a")]


def test_one_type_gives_one_tensor_and_no_type_the_operation():
    calls = []
    with tf.Graph().as_default(), tf.Session() as session:
        one = tf.numpy_function(lambda x: x.astype(object), [tf.constant(["a", "bc"])], tf.string)
        assert session.run(one).tolist() == [b"a", b"bc"]
        none = tf.py_func(lambda: calls.append(1), [], [])
        assert session.run(none) is None and calls == [1]
        # A str is UTF-8, as everywhere.
        assert session.run(tf.py_func(lambda: "é", [], tf.string)) == "é".encode()


def test_only_a_function_with_a_state_runs_in_each_place_that_names_it():
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant(2.0)
        made = tf.py_func(lambda x: x + x, [x], tf.float32, stateful=False, name="twice")
        assert (made.op.type, made.op.name) == ("PyFuncStateless", "twice")
        assert made.eval() == 4


@pytest.mark.parametrize(
    "raised, expected",
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
        (SystemExit, tf.errors.UnknownError),
    ],
)
def test_an_error_of_a_function_comes_with_its_class_and_where_it_was_raised(raised, expected):
    def fails_here():
        raise raised("no such luck")

    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(expected) as caught:
            session.run(tf.py_func(fails_here, [], tf.float32))
    assert f"{raised.__name__}: " in str(caught.value) and "no such luck" in str(caught.value)
    assert "in fails_here" in str(caught.value) and __file__ in str(caught.value)


def test_what_comes_back_must_have_the_types_and_the_number_that_were_said():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
            session.run(tf.py_func(lambda x: np.float64(x), [x], tf.float32))
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="returns 2 values, but expects to see 1 values"
        ):
            session.run(tf.py_func(lambda x: (x, x), [x], [tf.float32]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected binary or unicode"):
            session.run(tf.py_func(lambda: object(), [], tf.string))


def test_functions_that_wait_for_each_other_hold_no_thread_that_computes():
    # More than the pool may have threads.
    together = threading.Barrier(20, timeout=60)

    def meet(x):
        together.wait()
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        met = [tf.py_func(meet, [tf.constant(float(i))], tf.float32) for i in range(20)]
        assert session.run(tf.add_n(met)) == sum(range(20))


def test_a_function_may_run_a_session_of_its_own():
    with tf.Graph().as_default() as inner, tf.Session(graph=inner) as below:
        squared = tf.square(tf.placeholder(tf.float32, [], name="x"))

        with tf.Graph().as_default(), tf.Session() as session:
            made = tf.py_func(
                lambda x: below.run(squared, {"x:0": x}), [tf.constant(3.0)], tf.float32
            )
            assert session.run(made) == 9


def test_a_server_of_this_process_calls_functions_too():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        x = tf.placeholder(tf.float32, [None])
        assert session.run(tf.py_func(np.sum, [x], tf.float32), {x: [1, 2]}) == 3


def test_a_step_that_is_given_up_does_not_wait_for_its_function():
    release, finished = threading.Event(), threading.Event()

    def waits():
        release.wait(60)
        finished.set()
        return np.float32(1)

    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.py_func(waits, [], tf.float32)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(made, options=tf.RunOptions(timeout_in_ms=50))
        assert not finished.is_set()
        release.set()
        assert finished.wait(60)


def test_a_function_lives_as_long_as_its_graph_and_another_process_has_none():
    with tf.Graph().as_default() as graph:
        tf.py_func(lambda: np.float32(1), [], tf.float32, name="call")
        sent = graph.as_graph_def()
    del graph
    gc.collect()
    with tf.Graph().as_default(), tf.Session() as session:
        (made,) = tf.import_graph_def(sent, return_elements=["call:0"], name="")
        with pytest.raises(tf.errors.InvalidArgumentError, match="callback pyfunc_[0-9]* is not"):
            session.run(made)

"""tf.py_function: functions of Tensors that have values."""

import gc
import weakref

import numpy as np
import pytest

import millrace as tf


def _run(function, inputs, types, feeds=None):
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(value) for value in inputs]
        return session.run(tf.py_function(function, tensors, types), feeds)


def test_a_function_sees_values_and_may_compute_by_ops():
    seen = []

    def normed(x, words):
        assert tf.executing_eagerly()
        seen.append((x.numpy().tolist(), x.shape.as_list(), words.numpy()[0], len(words)))
        return tf.sqrt(tf.reduce_sum(x * x)), words.numpy()[1] + b"!"

    norm, word = _run(normed, [[3.0, 4.0], ["a", "b"]], [tf.float32, tf.string])
    assert (norm, word) == (5.0, b"b!")
    assert seen == [([3.0, 4.0], [2], b"a", 2)]
    assert not tf.executing_eagerly()


def test_what_python_asks_of_a_number_it_asks_of_the_value():
    def asked(x, n):
        total = tf.zeros([])
        for _ in range(n):
            total = total + x
        if total > 5.0:
            return [f"{float(total):.1f}", int(n) + 1, np.asarray(total) * 2, bool(x > 100.0)]
        return ["small", 0, 0.0, True]

    types = [tf.string, tf.int32, tf.float32, tf.bool]
    assert _run(asked, [2.0, 3], types) == [b"6.0", 4, 12.0, False]
    assert _run(asked, [1.0, 3], types) == [b"small", 0, 0.0, True]


def test_one_type_gives_one_tensor_no_type_the_operation_and_numbers_become_what_is_said():
    calls = []
    with tf.Graph().as_default(), tf.Session() as session:
        one = tf.py_function(lambda x: 1, [tf.constant(2.0)], tf.float32, name="one")
        assert (one.op.type, one.op.name, one.shape.ndims) == ("EagerPyFunc", "one", None)
        assert session.run(one) == np.float32(1)
        none = tf.py_function(lambda: calls.append(1), [], [])
        assert session.run(none) is None and calls == [1]


def test_gradients_go_through_what_was_computed_by_ops_to_any_order():
    def cubed(x, n, y):
        for _ in range(n):
            y = y * x
        return y

    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, []), tf.constant(1.0)
        made = tf.py_function(cubed, [x, tf.constant(3), y], tf.float32)
        (slope, by_y) = tf.gradients(made, [x, y])
        (bend,) = tf.gradients(slope, x)
        assert session.run([made, slope, by_y, bend], {x: 2.0}) == [8.0, 12.0, 8.0, 12.0]


def test_what_numpy_computed_has_zeros_for_a_gradient_and_integers_have_none():
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.constant([1.0, 2.0]), tf.constant(2)
        made = tf.py_function(lambda x, n: x.numpy() * n.numpy(), [x, n], tf.float32)
        by_x, by_n = tf.gradients(made, [x, n])
        assert session.run([made, by_x])[0].tolist() == [2, 4]
        assert session.run(by_x).tolist() == [0, 0] and by_n is None


def test_a_tape_and_control_flow_work_inside():
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x > 0.0, lambda: x * x, lambda: -x)
        steps = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)])
        return tape.gradient(y, x), tf.cast(steps, tf.float32)

    assert _run(slope, [3.0], [tf.float32, tf.float32]) == [6.0, 5.0]
    assert _run(slope, [-3.0], [tf.float32, tf.float32]) == [-1.0, 5.0]


def test_what_is_drawn_is_drawn_once_and_effects_come_in_order():
    def drawn():
        x = tf.random_uniform([4])
        doubled = x * 2.0
        assert np.array_equal(doubled.numpy(), 2 * x.numpy())
        assert np.array_equal((x + 0.0).numpy(), x.numpy())
        total = tf.while_loop(
            lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.random_uniform([])), [0, 0.0]
        )[1]
        assert (total * 2.0).numpy() == total.numpy() * 2
        held = tf.Variable(1.0)
        tf.assign(held, 2.0)
        tf.assign_add(held, 3.0)
        return held.read_value()

    assert _run(drawn, [], tf.float32) == 5.0


def test_errors_name_what_does_not_fit():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(1.0)

        def fails(function, types, match):
            with pytest.raises(tf.errors.OpError, match=match):
                session.run(tf.py_function(function, [x], types))

        fails(lambda x: (x, x), [tf.float32] * 3, "returned 2 values, but Tout says 3")
        fails(lambda x: x, tf.int32, "requested dtype int32 for Tensor with dtype float32")
        fails(lambda y: y + x, tf.float32, "must be from the same graph")
        fails(lambda x: tf.Variable(x), tf.float32, "read_value")
        fails(lambda x: tf.log(x) / [1.0, 2.0] + [1.0, 2.0, 3.0], tf.float32, "2|3")


def test_datasets_map_by_them_and_a_model_learns_through_one():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(4).map(
            lambda n: tf.py_function(lambda n: n.numpy() ** 2, [n], tf.int64), 2
        )
        following = dataset.make_one_shot_iterator().get_next()
        assert [session.run(following) for _ in range(4)] == [0, 1, 4, 9]
        weight = tf.Variable(0.0)
        loss = tf.py_function(lambda w: tf.square(w - 3.0), [weight], tf.float32)
        step = tf.train.GradientDescentOptimizer(0.25).minimize(loss, var_list=[weight])
        session.run(weight.initializer)
        for _ in range(10):
            session.run(step)
        assert abs(session.run(weight) - 3) < 0.01


def test_a_mask_chooses_values_as_an_array_does():
    def positive(x):
        chosen = x[x > 0.0]
        return chosen.shape[0], x[np.array([True, False, False])]

    count, first = _run(positive, [[1.0, -2.0, 3.0]], [tf.int64, tf.float32])
    assert count == 2 and first.tolist() == [1]


def test_variables_are_read_in_the_order_of_the_program_whatever_kind_was_asked_for():
    def counted(x):
        held = tf.Variable(x, use_resource=False)
        assert isinstance(held.handle, tf.Tensor)
        tf.assign_add(held, 1.0)
        doubled = held * 2.0
        assert doubled.numpy() == 4.0
        tf.assign_add(held, 1.0)
        return doubled + held * 1.0

    assert _run(counted, [1.0], tf.float32) == 7.0


def test_a_call_leaves_no_values_behind_but_those_that_somebody_has():
    made, kept = [], []

    def doubled(x):
        y = x * 2.0
        for tensor in (x, y):
            made.append(weakref.ref(tensor.numpy()))
        kept.append(x + 1.0)
        assert kept[0].numpy().tolist() == [2.0] * 3
        return y

    with tf.Graph().as_default(), tf.Session() as session:
        tensor = tf.py_function(doubled, [tf.ones([3])], tf.float32)
        gc.disable()
        try:
            assert session.run(tensor).tolist() == [2.0] * 3
            assert [ref() for ref in made] == [None, None]
            assert kept[0].numpy().tolist() == [2.0] * 3
        finally:
            gc.enable()


def test_effects_run_once_whether_or_not_something_is_asked_for_after_them():
    calls = []

    def noted(x):
        first = tf.py_func(lambda: calls.append("first"), [], [])
        with tf.control_dependencies([first]):
            late = x * 3.0  # asked for when the effect has run
        assert (x + 1.0).numpy() == 2.0 and calls == ["first"]
        assert late.numpy() == 3.0
        tf.group(tf.py_func(lambda: calls.append("second"), [], []), late)
        return x

    assert _run(noted, [1.0], tf.float32) == 1.0
    assert calls == ["first", "second"]


def test_an_effect_that_failed_and_was_excused_does_not_fail_again():
    calls = []

    def careful(x):
        tf.py_func(lambda: calls.append("before"), [], [])
        tf.assert_greater(x, 5.0)
        try:
            return (x + 1.0).numpy()
        except tf.errors.InvalidArgumentError:
            return -x

    assert _run(careful, [1.0], tf.float32) == -1.0
    assert calls == ["before"]


def test_effects_before_a_branch_and_a_loop_come_first():
    def counted(x):
        held = tf.Variable(1.0)
        held.assign_add(1.0, read_value=False)
        tf.cond(x > 0.0, lambda: held.assign(held.read_value() * 10.0), lambda: 0.0)

        def body(i):
            changed = held.assign(held.read_value() * 2.0)
            return i + 1 + tf.cast(changed * 0.0, tf.int32)

        held.assign_add(1.0, read_value=False)
        tf.while_loop(lambda i: i < 2, body, [0])
        held.assign_add(1.0, read_value=False)
        return held.read_value()

    assert _run(counted, [1.0], tf.float32) == 85.0

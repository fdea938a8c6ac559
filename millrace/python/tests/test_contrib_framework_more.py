"""The rest of tf.contrib.framework, tf.contrib.nn, buckets of examples, and inner import paths."""

import logging

import numpy as np
import pytest

import millrace as tf

framework, training = tf.contrib.framework, tf.contrib.training


# ---- Framework -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_values_are_sorted_along_an_axis(check, kind):
    values = np.random.RandomState(0).randint(-9, 9, [3, 4, 2]).astype(kind)
    for axis in (0, 1, -1):
        check(framework.sort(values, axis), np.sort(values, axis))
        down = framework.sort(values, axis, direction="DESCENDING")
        check(down, np.flip(np.sort(values, axis), axis))


def test_scalars_and_types_are_checked():
    assert framework.assert_scalar(tf.constant(1.0)).op.type == "Const"
    for check, value in (
        (framework.assert_scalar, [1.0]),
        (framework.assert_scalar_int, 1.0),
        (framework.assert_scalar_int, [1]),
    ):
        with pytest.raises(ValueError, match="Expected"):
            check(tf.constant(value))
    half = tf.constant(1.0, tf.float16)
    assert framework.assert_same_float_dtype([half, None]) == tf.float16
    assert framework.assert_same_float_dtype() == tf.float32
    with pytest.raises(ValueError, match="float32"):
        framework.assert_same_float_dtype([half, tf.constant(1.0)])
    with pytest.raises(ValueError, match="floating point"):
        framework.assert_same_float_dtype([tf.constant(1)])
    assert framework.is_tensor(half) and not framework.is_tensor(1.0)
    assert not framework.is_tensor(tf.SparseTensorValue([[0]], [1], [1]))


def test_a_shape_is_promised(session):
    x = tf.placeholder(tf.float32, None)
    made = framework.with_shape([2, 3], x)
    assert made.shape.as_list() == [2, 3]
    same = framework.with_same_shape(tf.zeros([2, 3]), x)
    session.run([made, same], {x: np.zeros([2, 3])})
    for wrong in ([3, 2], [6], [2, 3, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
            session.run(made, {x: np.zeros(wrong)})
    with pytest.raises(ValueError, match="Invalid shape"):
        framework.with_shape([2], tf.zeros([3]))


def test_choices_that_are_known_are_made_at_once(check):
    def never():
        raise AssertionError

    one = lambda: tf.constant(1)  # noqa: E731
    assert framework.smart_case([(False, never), (True, one)]).op.type == "Const"
    assert framework.smart_case({tf.constant(False): never}, default=one).op.type == "Const"
    asked = tf.placeholder(tf.bool, [])
    check(framework.smart_case([(asked, one)], default=lambda: tf.constant(2)), 2, {asked: False})
    with pytest.raises(ValueError, match="2 predicates are true"):
        framework.smart_case([(True, one), (True, one)], exclusive=True)
    with pytest.raises(ValueError, match="no default"):
        framework.smart_case([(False, one)])


def test_what_a_graph_is_made_of(graph):
    with tf.name_scope("a"), tf.name_scope("b"):
        assert framework.get_name_scope() == "a/b"
        x = tf.placeholder(tf.float32, name="x")
    assert framework.get_placeholders(graph) == [x]
    assert framework.get_graph_from_inputs([x, 1.0]) is graph
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="same graph"):
            framework.get_graph_from_inputs([tf.constant(1.0), x])
    assert framework.prepend_name_scope("^x", "a/b") == "^a/b/x"
    assert framework.strip_name_scope("loc:@a/b/x", "a/b") == "loc:@x"
    assert framework.strip_name_scope("c/x", "a") == "c/x"


def test_sums_of_several(check):
    check(framework.reduce_sum_n([tf.constant([1.0, 2.0]), tf.constant(3.0)]), np.float32(6))


def test_variables_by_patterns():
    made = [tf.Variable(1.0, name=name) for name in ("a/w", "a/b", "c/w")]
    assert framework.filter_variables(made, ["a/"], ["b$"]) == [made[0]]
    assert framework.filter_variables(made, ["w"], reg_search=False) == []
    assert framework.get_variable_full_name(made[0]) == "a/w"
    step = tf.train.create_global_step()
    assert framework.assert_or_get_global_step() is step
    chooser = framework.VariableDeviceChooser(num_tasks=2)
    places = [framework.variable(name, [2], device=chooser).device for name in "xyz"]
    assert places == [f"/job:ps/task:{i}/device:CPU:0" for i in (0, 1, 0)]


def test_what_is_on_its_way_out_is_told_once(caplog):
    @framework.deprecated("2026-01-31", "Use g.")
    def f():
        return 1

    @framework.deprecated_args(None, "Leave it out.", "b", ("c", 0))
    def g(a, b=None, c=0):
        return a

    @framework.deprecated_arg_values("2026-01-31", "Say False.", a=True)
    def h(a):
        return a

    caplog.set_level(logging.WARNING, "millrace")
    assert [f(), f(), g(1), g(1, c=0), g(1, b=2), g(1, 2), h(False), h(True)]
    told = [line.message for line in caplog.records]
    assert len(told) == 3
    assert "removed after 2026-01-31. Instructions for updating: Use g." in told[0]
    assert "with b=2 " in told[1] and "in a future version" in told[1] and "a=True" in told[2]
    with pytest.raises(ValueError, match="not present in the signature"):
        framework.deprecated_args(None, "", "z")(f)


# ---- Small modules -------------------------------------------------------------------------------


def test_alpha_dropout_keeps_mean_and_variance(session):
    x = tf.nn.selu(tf.random_normal([200, 200], seed=1))
    made = tf.contrib.nn.alpha_dropout(x, 0.8, seed=2)
    before, after = session.run([x, made])
    assert after.mean() == pytest.approx(before.mean(), abs=0.03)
    assert after.std() == pytest.approx(before.std(), abs=0.03)
    assert tf.contrib.nn.alpha_dropout(x, 1.0) is x
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        tf.contrib.nn.alpha_dropout(x, 0.0)


def test_softplus_is_scaled_and_limited(check):
    x = np.float32([-1, 0, 3])
    expected = 2 * np.log1p(np.exp(x / 2))
    check(tf.contrib.nn.scaled_softplus(x, 2.0), expected, rtol=1e-5)
    check(tf.contrib.nn.scaled_softplus(x, 2.0, clip=2.0), np.minimum(expected, 2), rtol=1e-5)


def test_gradients_of_a_model_are_clipped(session):
    var = tf.Variable([3.0, 4.0])
    optimizer = tf.contrib.estimator.clip_gradients_by_norm(
        tf.train.GradientDescentOptimizer(1.0), 1.0
    )
    train = optimizer.minimize(tf.reduce_sum(var * [3.0, 4.0]))
    session.run(tf.global_variables_initializer())
    session.run(train)
    np.testing.assert_allclose(session.run(var), [2.4, 3.2], rtol=1e-5)


# ---- Buckets -------------------------------------------------------------------------------------


def _batches(session, fetches):
    """All that comes out of buckets, until the end."""
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    found = []
    with tf.contrib.slim.queues.QueueRunners(session):
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(fetches))
    return found


@pytest.mark.parametrize("rest", [True, False])
def test_examples_of_about_one_length_come_out_together(session, rest):
    length = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    words = tf.fill([length], length)
    lengths, batch = training.bucket_by_sequence_length(
        length,
        {"words": words},
        batch_size=2,
        bucket_boundaries=[3, 6],
        dynamic_pad=True,
        allow_smaller_final_batch=rest,
    )
    found = _batches(session, [lengths, batch["words"]])
    kinds = {}
    for several, padded in found:
        assert padded.shape == (len(several), several.max())
        for n, row in zip(several, padded):
            assert row.tolist() == [n] * n + [0] * (several.max() - n)
        kinds.setdefault(np.searchsorted([3, 6], several[0], "right"), []).extend(several)
    whole = {0: [0, 1, 2], 1: [3, 4, 5], 2: [6, 7, 8, 9]}
    expected = whole if rest else {0: [0, 1], 1: [3, 4], 2: [6, 7, 8, 9]}
    assert kinds == expected


def test_buckets_may_have_sizes_of_their_own_and_leave_out(session):
    number = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
    which, (batch,) = training.bucket(
        [number], number % 2, [1, 3], 2, keep_input=tf.not_equal(number, 4)
    )
    found = _batches(session, [which, batch])
    assert [b.tolist() for w, b in found if w == 0] == [[0], [2], [6], [8], [10]]
    assert [b.tolist() for w, b in found if w == 1] == [[1, 3, 5], [7, 9, 11]]


def test_buckets_that_cannot_be_are_refused():
    x = tf.constant(1)
    for boundaries, kind in (([], ValueError), ([3, 3], ValueError), ([1.5], TypeError)):
        with pytest.raises(kind):
            training.bucket_by_sequence_length(x, [x], 2, boundaries)
    with pytest.raises(ValueError, match="num_buckets"):
        training.bucket([x], x, [1, 2], 3)


# ---- Inner paths ---------------------------------------------------------------------------------


def test_programs_find_what_they_take_from_inside(session):
    from millrace.contrib.crf.python.ops import crf
    from millrace.contrib.framework.python.ops import add_arg_scope
    from millrace.contrib.layers.python.layers import batch_norm, utils
    from millrace.contrib.rnn.python.ops import core_rnn_cell
    from millrace.python.ops import rnn_cell_impl

    assert batch_norm is tf.contrib.layers.batch_norm
    assert add_arg_scope is framework.add_arg_scope
    assert crf.crf_decode is tf.contrib.crf.crf_decode
    assert utils.collect_named_outputs is tf.contrib.slim.utils.collect_named_outputs
    x = tf.ones([2, 3])
    with tf.variable_scope("a"):
        made = core_rnn_cell._linear([x, x], 4, True)
    layer = rnn_cell_impl._Linear(x, 4, False)
    assert [v.op.name for v in tf.global_variables()] == ["a/kernel", "a/bias", "kernel"]
    session.run(tf.global_variables_initializer())
    made, kernels, other = session.run([made, tf.global_variables(), layer(x)])
    np.testing.assert_allclose(made, np.ones([2, 6]) @ kernels[0], rtol=1e-5)
    np.testing.assert_allclose(other, np.ones([2, 3]) @ kernels[2], rtol=1e-5)
    with pytest.raises(ValueError, match="2D"):
        core_rnn_cell._linear(tf.ones([2]), 4, True)


def test_sizes_of_shapes_that_must_be_known():
    utils = tf.contrib.slim.utils
    shape = tf.TensorShape([2, None, 4])
    assert utils.last_dimension(shape, min_rank=3) == 4 and utils.first_dimension(shape) == 2
    assert utils.two_element_tuple(3) == (3, 3) and utils.two_element_tuple([1, 2]) == (1, 2)
    for call in (
        lambda: utils.last_dimension(shape, min_rank=4),
        lambda: utils.channel_dimension(shape, "NCHW"),
        lambda: utils.two_element_tuple([1, 2, 3]),
        lambda: utils.two_element_tuple(0),
    ):
        with pytest.raises(ValueError):
            call()


def test_a_head_of_numbers_between_0_and_1(session):
    logits, labels = np.float32([[0.0], [2.0]]), np.float32([[0.25], [1.0]])
    spec = tf.contrib.estimator.logistic_regression_head().create_estimator_spec(
        features={"x": logits}, mode="eval", logits=tf.constant(logits), labels=tf.constant(labels)
    )
    loss, predictions = session.run([spec.loss, spec.predictions["predictions"]])
    np.testing.assert_allclose(predictions, 1 / (1 + np.exp(-logits)), rtol=1e-5)
    np.testing.assert_allclose(loss, (np.log1p(np.exp(logits)) - logits * labels).mean(), rtol=1e-5)

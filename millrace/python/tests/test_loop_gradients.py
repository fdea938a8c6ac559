"""tf.gradients through while loops, beside differences of the function's own values."""

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(3)


def check(session, function, *values, rtol=1e-5):
    """Holds the gradients of sum(function(*xs) * weights) by each x against central differences."""
    xs = [tf.placeholder(tf.float64, np.shape(value)) for value in values]
    y = function(*xs)
    feeds = dict(zip(xs, values))
    weights = np.cos(np.arange(np.size(session.run(y, feeds)), dtype=np.float64))
    total = tf.reduce_sum(tf.reshape(y, [-1]) * weights)
    session.run(tf.global_variables_initializer())
    by_xs = [
        np.zeros(np.shape(value)) if by_x is None else session.run(by_x, feeds)
        for by_x, value in zip(map(dense, tf.gradients(total, xs)), values)
    ]
    for x, value, by_x in zip(xs, values, by_xs):
        value = np.asarray(value, np.float64)
        for at in np.ndindex(value.shape):
            step = np.zeros(value.shape)
            step[at] = 1e-6
            up, down = (session.run(total, {**feeds, x: value + d}) for d in (step, -step))
            assert np.isclose(by_x[at], (up - down) / 2e-6, rtol=rtol, atol=1e-7), at


def dense(gradient):
    return None if gradient is None else tf.convert_to_tensor(gradient)


def times(count, step, *initial, **options):
    """The values after `step` was applied `count` times."""
    return tf.while_loop(
        lambda i, *_: tf.less(i, count),
        lambda i, *values: [i + 1, *step(i, *values)],
        [tf.constant(0), *initial],
        **options,
    )[1:]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_loop_has_the_gradient_of_what_it_computes(session, count):
    check(session, lambda x, w: times(count, lambda i, y: [tf.tanh(y) * w], x)[0], [1.2, -0.4], 0.8)


def test_a_power(session):
    x = tf.constant(3.0)
    (y,) = times(4, lambda i, y: [y * x], tf.constant(1.0))
    assert session.run(tf.gradients(y, x)) == [108.0]


def test_variables_that_depend_on_each_other(session):
    def function(a, b, w):
        return times(5, lambda i, p, q: [p + q * w, q * p], a, b)[0]

    check(session, function, 1.1, 0.5, 0.7)


def test_loops_in_loops(session):
    def function(x, w):
        def step(i, y):
            return times(i, lambda j, z: [z * w + tf.sin(y) * z], y * x)

        return times(4, step, x)[0]

    check(session, function, 1.3, 0.7)


def test_conditionals_in_loops_and_loops_in_conditionals(session):
    def function(x, w):
        def step(i, y):
            odd = lambda: times(i + 1, lambda j, z: [tf.sin(z * w + y)], x)[0]
            even = lambda: y * w * y
            return [tf.cond(tf.equal(i % 2, 0), even, odd)]

        return times(5, step, x)[0]

    check(session, function, 1.3, 0.7)


@pytest.mark.parametrize("taken", [True, False])
def test_a_loop_in_a_branch_that_may_not_be_taken(session, taken):
    p = tf.placeholder_with_default(taken, [])

    def function(x, w):
        return tf.cond(p, lambda: times(3, lambda i, y: [tf.cos(y) * w], x)[0], lambda: x * x)

    check(session, function, 0.3, 1.7)


def test_shapes_that_are_not_known(session):
    x = tf.placeholder(tf.float64, [None, None])
    w = tf.placeholder(tf.float64, [None, None])
    b = tf.placeholder(tf.float64, [None])
    (y,) = times(3, lambda i, y: [tf.tanh(tf.matmul(y, w) + b)], x)
    feeds = {x: RNG.normal(size=(2, 3)), w: RNG.normal(size=(3, 3)), b: RNG.normal(size=3)}
    by_all = session.run(tf.gradients(y, [x, w, b]), feeds)
    for of, by in zip((x, w, b), by_all):
        step = np.zeros_like(feeds[of])
        step.flat[1] = 1e-6
        up, down = (session.run(y, {**feeds, of: feeds[of] + d}).sum() for d in (step, -step))
        assert np.isclose(by.flat[1], (up - down) / 2e-6, rtol=1e-6)


def test_a_variable_whose_shape_changes(session):
    def function(x):
        grown = lambda i, y: [tf.concat([y, tf.reduce_sum(y * y, keepdims=True)], 0)]
        invariants = [tf.TensorShape([]), tf.TensorShape([None])]
        return times(3, grown, x, shape_invariants=invariants)[0]

    check(session, function, [0.3, 0.5])


def test_scan_map_fn_and_folds(session):
    xs = RNG.normal(size=(4, 2))
    start = tf.constant([0.1, 0.2], tf.float64)
    check(session, lambda x, w: tf.scan(lambda a, e: tf.tanh(a * w + e), x, start), xs, 0.4)
    check(session, lambda x, w: tf.scan(lambda a, e: a * w + e * a, x, reverse=True), xs, 0.4)
    check(session, lambda x, w: tf.map_fn(lambda e: e * w * e, x), xs, 0.4)
    check(session, lambda x: tf.foldl(lambda a, e: a * e + a, x), xs)
    check(session, lambda x: tf.foldr(lambda a, e: a * e + a, x), xs)


def test_an_array_that_is_written_and_read_in_the_loop(session):
    def function(x):
        array = tf.TensorArray(tf.float64, 4, clear_after_read=False).write(0, x[0])
        _, array = tf.while_loop(
            lambda i, _: tf.less(i, 4),
            lambda i, array: (i + 1, array.write(i, array.read(i - 1) * x[i])),
            [tf.constant(1), array],
        )
        return array.stack()

    check(session, function, [1.0, 2.0, -3.0, 0.5])


def test_arrays_that_are_split_and_joined_have_gradients(session):
    def function(x):
        array = tf.TensorArray(tf.float64, 3, infer_shape=False).split(x * x, [1, 3, 2])
        return array.concat() * x

    check(session, function, RNG.normal(size=(6, 2)))


@pytest.mark.parametrize("count", [0, 3])
def test_a_gather_in_a_loop_gives_slices_of_all_iterations(session, count):
    w = tf.placeholder(tf.float64, [None, 2])
    (y,) = times(
        count, lambda i, y: [y * 0.5 + tf.gather(w, [i, i + 1])], tf.zeros([2, 2], tf.float64)
    )
    (by_w,) = tf.gradients(y, [w])
    assert isinstance(by_w, tf.IndexedSlices)
    found = session.run(tf.convert_to_tensor(by_w), {w: np.ones([5, 2])})
    wanted = np.zeros([5, 2])
    for i in range(count):
        wanted[[i, i + 1]] += 0.5 ** (count - 1 - i)
    assert np.allclose(found, wanted)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_that_loops_read_can_be_trained(session, use_resource):
    w = tf.Variable(2.0, use_resource=use_resource)
    (y,) = times(3, lambda i, y: [y * w + 1.0], tf.constant(1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(y)
    session.run(tf.global_variables_initializer())
    session.run(train)
    # y = w^3 + w^2 + w + 1
    assert np.isclose(session.run(w), 2.0 - 0.1 * 17.0)


def test_a_gradient_that_a_loop_body_asks_for(session):
    (y,) = times(
        20, lambda i, y: [y - 0.1 * tf.gradients(tf.square(y - 3.0), y)[0]], tf.constant(0.0)
    )
    assert np.isclose(session.run(y), 3.0 * (1 - 0.8**20))


def test_no_gradient_goes_through_a_loop_without_back_prop(session):
    x = tf.constant(2.0)
    (y,) = times(3, lambda i, y: [y * x], tf.constant(1.0), back_prop=False)
    assert tf.gradients(y, x) == [None]
    assert session.run(tf.gradients(y + x, x)) == [1.0]
    assert tf.gradients(tf.map_fn(lambda e: e * x, tf.ones([2]), back_prop=False), x) == [None]


def test_two_gradients_of_one_loop(session):
    x = tf.constant(0.5)
    (y,) = times(3, lambda i, y: [tf.sin(y) * y + 1.0], x)
    once, twice = tf.gradients(y, x)[0], tf.gradients(2.0 * y, x)[0]
    once_value, twice_value = session.run([once, twice])
    assert np.isclose(twice_value, 2 * once_value)


def test_by_what_a_loop_computes_in_each_iteration_there_is_no_gradient(session):
    inside = []
    (y,) = times(3, lambda i, y: [inside.append(y * 2.0) or inside[0]], tf.constant(1.0))
    with pytest.raises(ValueError, match="another value in each iteration"):
        tf.gradients(y, inside[0])


def of_order(number, function):
    """A function whose value is the sum of the gradients of that order."""

    def derivative(*xs):
        y = tf.reduce_sum(function(*xs))
        for _ in range(number):
            y = sum(tf.reduce_sum(g) for g in tf.gradients(y, xs) if g is not None)
        return y

    return derivative


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_gradients_of_loops(session, order):
    def in_branches(x, w):
        def step(i, y):
            return [tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(y * w) * y, lambda: y * y * w)]

        return times(3, step, x)[0]

    def nested(x, w):
        return times(3, lambda i, y: times(i + 1, lambda j, z: [tf.sin(z * w) * y + z], y), x)[0]

    plain = lambda x, w: times(3, lambda i, y: [tf.tanh(y * w) + y], x)[0]
    scanned = lambda x, w: tf.scan(lambda a, e: tf.tanh(a * w + e), x)
    only_x = lambda x: times(2, lambda i, y: [tf.cond(i < 1, lambda: y * y * y, lambda: y)], x)[0]
    check(session, of_order(order, plain), [0.5, -0.3], 1.2, rtol=1e-4)
    check(session, of_order(order, in_branches), 0.5, 1.2, rtol=1e-4)
    check(session, of_order(order, nested), 0.5, 0.7, rtol=1e-4)
    check(session, of_order(order, scanned), [0.5, 0.1, -0.4], 0.7, rtol=1e-4)
    check(session, of_order(order, only_x), 0.5, rtol=1e-4)

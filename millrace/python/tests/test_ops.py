"""What ops compute, against NumPy."""

import numpy as np
import pytest

import millrace as tf

RANDOM = np.random.default_rng(7)


def numbers(shape, dtype, low=-4, high=5):
    if np.dtype(dtype).kind in "iu":
        return RANDOM.integers(
            max(low, 0 if np.dtype(dtype).kind == "u" else low), high, shape
        ).astype(dtype)
    return RANDOM.uniform(low, high, shape).astype(dtype)


FLOATS = [np.float32, np.float64]
NUMBERS = [np.float32, np.float64, np.int32, np.int64]

UNARY = {
    "abs": np.abs,
    "negative": np.negative,
    "square": np.square,
    "sign": np.sign,
    "exp": np.exp,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "round": np.round,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
POSITIVE = {"sqrt": np.sqrt, "log": np.log, "log1p": np.log1p, "rsqrt": lambda x: 1 / np.sqrt(x)}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*UNARY, *POSITIVE])
def test_functions_of_one_argument(check, name, dtype):
    low = 0.1 if name in POSITIVE else -4
    x = numbers((3, 4), dtype, low)
    check(getattr(tf, name)(x), {**UNARY, **POSITIVE}[name](x), rtol=1e-5)


BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 2)), ((0, 3), (1, 3))]
)
def test_functions_of_two_arguments_broadcast(check, name, dtype, shapes):
    a, b = (numbers(shape, dtype) for shape in shapes)
    check(getattr(tf, name)(a, b), BINARY[name](a, b))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_operators_mean_what_they_mean_in_python(check, dtype):
    a = numbers((2, 3), dtype, 1, 9)
    b = numbers((3,), dtype, 1, 9)
    x = tf.constant(a)
    for ours, theirs in [
        (x + b, a + b),
        (b + x, b + a),
        (x - b, a - b),
        (b - x, b - a),
        (x * b, a * b),
        (x // b, a // b),
        (x % b, a % b),
        (b // x, b // a),
        (x > b, a > b),
        (x <= b, a <= b),
        (-x, -a),
        (abs(-x), a),
        (x[1], a[1]),
    ]:
        check(ours, np.asarray(theirs))


def test_division_gives_floating_numbers(check):
    a, b = np.array([1, 2, 7], np.int32), np.array([2, 2, 2], np.int32)
    check(tf.constant(a) / b, a / b)
    check(tf.truediv(a.astype(np.int8), b.astype(np.int8)), (a / b).astype(np.float32))
    check(tf.div(a, b), a // b)
    check(tf.constant([-7.0]) // 2.0, np.array([-4.0], np.float32))
    check(tf.constant([-7]) % 3, np.array([2], np.int32))


def test_numbers_too_small_to_be_normal_are_nothing(session, check):
    exponent, factor = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    check(tf.exp(exponent), [0, np.exp(-80.0)], {exponent: [-95, -80]}, rtol=1e-5)
    tiny = session.run(factor * 0.01, {factor: np.full(1000, 1e-37, np.float32)})
    assert not tiny.any()
    assert not session.run(tf.constant(1e-37) * tf.constant(0.01)).any()  # folded beforehand
    # The thread that calls computes as it did.
    assert np.float32(1e-37) * np.float32(0.01) > 0


def test_logic(check):
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    x = tf.constant(a)
    check(tf.logical_and(x, b), a & b)
    check(tf.logical_or(x, b), a | b)
    check(tf.logical_not(x), ~a)
    check(tf.logical_xor(x, b), a ^ b)
    check(x & b, a & b)
    check(True & x, a)
    check(x | True, a | True)
    check(~x, ~a)
    check(x ^ b, a ^ b)


REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_mean": np.mean,
    "reduce_prod": np.prod,
    "reduce_max": np.max,
    "reduce_min": np.min,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0, 2], [1]])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(check, name, axis, keep):
    x = numbers((2, 3, 4), np.float64, 0.5, 1.5)
    over = tuple(axis) if isinstance(axis, list) else axis
    expected = REDUCTIONS[name](x, axis=over, keepdims=keep)
    check(getattr(tf, name)(x, axis, keepdims=keep), expected)


def test_reductions_of_truth_and_of_unknown_rank(session, check):
    x = np.array([[True, False], [True, True]])
    check(tf.reduce_all(x, 0), x.all(0))
    check(tf.reduce_any(x, 1), x.any(1))
    unknown = tf.placeholder(tf.float32)
    assert session.run(tf.reduce_sum(unknown), {unknown: np.ones((2, 3))}) == 6
    check(tf.count_nonzero([[0, 1], [2, 3]], 0), np.array([1, 2]))
    check(tf.reduce_logsumexp([1000.0, 1000.0]), np.float32(1000 + np.log(2)))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_products_of_matrices(check, dtype):
    a, b = numbers((3, 4), dtype), numbers((4, 5), dtype)
    check(tf.matmul(a, b), a @ b, rtol=1e-5)
    check(tf.matmul(a.T, b, transpose_a=True), a @ b, rtol=1e-5)
    check(tf.matmul(a, b.T, transpose_b=True), a @ b, rtol=1e-5)
    check(tf.constant(a) @ b, a @ b, rtol=1e-5)
    with pytest.raises(ValueError):
        tf.matmul(a, a)


def test_products_of_batches_and_over_axes(check):
    a, b = numbers((2, 3, 4), np.float32), numbers((2, 4, 5), np.float32)
    check(tf.matmul(a, b), a @ b, rtol=1e-5)
    check(tf.tensordot(a, b[0], 1), np.tensordot(a, b[0], 1), rtol=1e-5)
    check(tf.tensordot(a, b, [[2], [1]]), np.tensordot(a, b, [[2], [1]]), rtol=1e-5)


def test_casts(check):
    x = np.array([-1.7, 0.0, 2.9])
    check(tf.cast(x, tf.int32), x.astype(np.int32))
    check(tf.cast(x, tf.bool), x.astype(bool))
    check(tf.to_float([1, 2]), np.float32([1, 2]))
    check(tf.saturate_cast([300, -5], tf.uint8), np.uint8([255, 0]))
    same = tf.constant(1.0)
    assert tf.cast(same, tf.float32) is same


def test_ranges_and_steps(check):
    check(tf.range(5), np.arange(5, dtype=np.int32))
    check(tf.range(2, 10, 3), np.arange(2, 10, 3, dtype=np.int32))
    check(tf.range(0.0, 1.0, 0.25), np.arange(0, 1, 0.25, dtype=np.float32))
    check(tf.range(3, dtype=tf.int64), np.arange(3))
    check(tf.linspace(0.0, 1.0, 5), np.linspace(0, 1, 5, dtype=np.float32))


def test_cumulation(check):
    x = numbers((3, 4), np.float32)
    check(tf.cumsum(x, 1), np.cumsum(x, 1), rtol=1e-5)
    check(tf.cumsum(x, 0, reverse=True), np.cumsum(x[::-1], 0)[::-1], rtol=1e-5)


def test_extremes_and_limits(check):
    x = numbers((3, 4), np.float32)
    check(tf.argmax(x, 1), np.argmax(x, 1))
    check(tf.argmin(x, 0), np.argmin(x, 0))
    check(tf.clip_by_value(x, -1.0, 1.0), np.clip(x, -1, 1))
    check(tf.add_n([x, x, x]), 3 * x)


# ---- Shapes and arrangement ----------------------------------------------------------------------

X = np.arange(24).reshape(2, 3, 4).astype(np.float32)


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        (1, 2),
        (1, 2, 3),
        slice(1, None),
        (slice(None), slice(0, 2)),
        (slice(None, None, -1), 0),
        (Ellipsis, 1),
        (0, Ellipsis, slice(None, None, 2)),
        (None, 0),
        (slice(None), None, 1),
        (slice(None), slice(-2, None), slice(3, 0, -1)),
        (slice(5, 9),),
    ],
    ids=repr,
)
def test_slices_mean_what_they_mean_in_numpy(check, index):
    check(tf.constant(X)[index], X[index])
    x = tf.placeholder(tf.float32)
    check(x[index], X[index], {x: X})


def test_slices_may_be_computed(check):
    i = tf.placeholder(tf.int32, [])
    x = tf.constant(X)
    check(x[i], X[1], {i: 1})
    check(x[:, i:], X[:, 2:], {i: 2})
    with pytest.raises(TypeError, match="valid indices"):
        x["a"]
    with pytest.raises(ValueError):
        x[0, 0, 0, 0]


def test_rearrangement(check):
    check(tf.reshape(X, [4, -1]), X.reshape(4, -1))
    check(tf.reshape(X[0, 0, :1], []), X[0, 0, 0])
    check(tf.transpose(X), X.T)
    check(tf.transpose(X, [1, 0, 2]), X.transpose(1, 0, 2))
    check(tf.expand_dims(X, 1), X[:, None])
    check(tf.expand_dims(X, -1), X[..., None])
    check(tf.squeeze(X[:1]), X[0])
    check(tf.squeeze(X[:1, :, :1], [0]), X[0, :, :1])
    check(tf.concat([X, X], 1), np.concatenate([X, X], 1))
    check(tf.concat([X, X], -1), np.concatenate([X, X], -1))
    check(tf.stack([X, X], 1), np.stack([X, X], 1))
    check(tf.stack([1, 2, 3]), np.int32([1, 2, 3]))
    check(tf.tile(X[0], [2, 1]), np.tile(X[0], [2, 1]))
    check(tf.reverse(X, [0, 2]), X[::-1, :, ::-1])
    check(tf.pad(X[0], [[1, 0], [0, 2]]), np.pad(X[0], [[1, 0], [0, 2]]))
    check(
        tf.pad(X[0], [[1, 0], [0, 2]], constant_values=9.0),
        np.pad(X[0], [[1, 0], [0, 2]], constant_values=9),
    )
    check(tf.slice(X, [0, 1, 1], [2, 1, -1]), X[0:2, 1:2, 1:])
    check(tf.broadcast_to(X[0, 0], [2, 4]), np.broadcast_to(X[0, 0], [2, 4]))


def test_parts(session):
    for ours, theirs in [
        (tf.split(X, 2, 2), np.split(X, 2, 2)),
        (tf.split(X, [1, 3], 2), np.split(X, [1], 2)),
        (tf.unstack(X, axis=1), [X[:, i] for i in range(3)]),
        (list(tf.constant(X)), list(X)),
    ]:
        values = session.run(ours)
        assert len(values) == len(theirs)
        assert all(np.array_equal(a, b) for a, b in zip(values, theirs))


def test_picking(check):
    check(tf.gather(X, [1, 0, 1]), X[[1, 0, 1]])
    check(tf.gather(X, [[2], [0]], axis=1), X[:, [[2], [0]]])
    check(tf.boolean_mask(X, [False, True]), X[[False, True]])
    check(tf.boolean_mask(X, X > 20), X[X > 20])
    check(tf.where(X[0] > 5), np.argwhere(X[0] > 5))
    check(tf.where(X > 5, X, -X), np.where(X > 5, X, -X))
    check(tf.one_hot([0, 2], 3), np.eye(3, dtype=np.float32)[[0, 2]])
    check(tf.one_hot([1, -1], 2, on_value=5, off_value=7), np.int32([[7, 5], [7, 7]]))


def test_an_index_that_is_too_large_is_an_error(session):
    i = tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
        session.run(tf.gather(X, i), {i: [7]})


def test_filling(check):
    x = tf.placeholder(tf.float32, [None, 2])
    check(tf.zeros([2, 3]), np.zeros((2, 3), np.float32))
    check(tf.ones([2], tf.int64), np.ones(2, np.int64))
    check(tf.zeros([2], tf.string), np.array([b"", b""], object))
    check(tf.zeros([2000]), np.zeros(2000, np.float32))
    check(tf.fill([2, 2], 7), np.full((2, 2), 7, np.int32))
    check(tf.zeros_like(x), np.zeros((3, 2), np.float32), {x: np.ones((3, 2))})
    check(tf.ones_like(X, tf.int32), np.ones(X.shape, np.int32))
    check(tf.zeros(tf.shape(x)), np.zeros((3, 2), np.float32), {x: np.ones((3, 2))})


def test_shapes_are_values(check):
    x = tf.placeholder(tf.float32, [None, 2])
    fed = {x: np.ones((3, 2))}
    check(tf.shape(x), np.int32([3, 2]), fed)
    check(tf.size(x), np.int32(6), fed)
    check(tf.rank(x), np.int32(2))
    check(tf.shape(x, out_type=tf.int64)[0], np.int64(3), fed)
    check(tf.reshape(x, [tf.shape(x)[0] * 2]), np.ones(6, np.float32), fed)
    assert tf.constant_value(tf.shape(tf.zeros([2, 3]))).tolist() == [2, 3]


def test_texts(check):
    check(
        tf.add(["a", "b"], "x"),
        np.array([b"ax", b"bx"], object),
    )
    check(tf.equal(["a", "b"], "b"), np.array([False, True]))
    check(tf.string_join(["a", "b"], "-"), np.asarray(b"a-b", object))
    check(tf.as_string([1, 2]), np.array([b"1", b"2"], object))


def test_random_values_repeat_with_a_seed():
    def draw(seed):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(seed)
            u, n, i = (
                tf.random_uniform([500]),
                tf.random_normal([500]),
                tf.random_uniform([500], 3, 9, tf.int32),
            )
            return session.run([u, n, i])

    first, again, other = draw(5), draw(5), draw(6)
    for a, b, c in zip(first, again, other):
        assert np.array_equal(a, b) and not np.array_equal(a, c)
    assert 0 <= first[0].min() and first[0].max() < 1
    assert abs(first[1].mean()) < 0.3 and 0.8 < first[1].std() < 1.2
    assert set(first[2]) == set(range(3, 9))


def test_a_shuffle_keeps_what_it_shuffles(session):
    shuffled = session.run(tf.random_shuffle(np.arange(100), seed=1))
    assert sorted(shuffled) == list(range(100)) and list(shuffled) != list(range(100))


def test_unstacking_needs_an_axis_that_is_there():
    with pytest.raises(ValueError, match=r"Argument `axis` = 0 not in range \[0, 0\)"):
        tf.unstack(tf.constant(1))
    with pytest.raises(ValueError, match=r"Argument `axis` = -3 not in range \[-2, 2\)"):
        tf.unstack(tf.zeros([2, 3]), axis=-3)
    with pytest.raises(ValueError, match="Cannot infer argument `num` from shape"):
        tf.unstack(tf.placeholder(tf.float32))


def test_strings_are_split_at_spaces_unless_told_otherwise(check):
    def pieces(*arguments, **named):
        return tf.string_split(*arguments, **named).values

    check(pieces(["a b", " c,d"]), [b"a", b"b", b"c,d"])
    check(pieces(["a b", " c,d"], " ,"), [b"a", b"b", b"c", b"d"])
    check(pieces(["a  b"], delimiter=" ", skip_empty=False), [b"a", b"", b"b"])
    check(pieces(input=["ab"], sep=""), [b"a", b"b"])


def test_literals_keep_their_own_type_if_an_op_with_a_default_type_allows_it():
    window = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    assert tf.raw_ops.MaxPool(input=[[[[1], [2]]]], **window).dtype == tf.int32
    assert tf.raw_ops.MaxPool(input=[[[[1.0], [2]]]], **window).dtype == tf.float32
    # These allow no integers: the default it is.
    assert tf.raw_ops.LeakyRelu(features=[1, 2]).dtype == tf.float32
    assert tf.raw_ops.RGBToHSV(images=[[[1, 2, 3]]]).dtype == tf.float32
    assert tf.raw_ops.Angle(input=[1, 2]).op.inputs[0].dtype == tf.complex64


def test_abs_of_complex_numbers_is_real(check):
    check(abs(tf.constant([3 + 4j, -1j], tf.complex128)), np.array([5.0, 1.0]))
    check(abs(tf.constant([-2, 3])), np.array([2, 3], np.int32))

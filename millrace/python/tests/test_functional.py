"""tf.map_fn, foldl, foldr and scan, TensorArray, and values that follow from shapes and order."""

import numpy as np
import pytest

import millrace as tf

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)


# ---- Functions along the first axis --------------------------------------------------------------


def test_map_fn_stacks_what_a_function_gives(check):
    fed = tf.placeholder(tf.float32, [None, 2])
    check(tf.map_fn(lambda row: row * row, X), X * X)
    check(tf.map_fn(tf.reduce_sum, fed), X.sum(1), {fed: X})
    check(tf.map_fn(tf.reduce_sum, fed), np.zeros([0], np.float32), {fed: X[:0]})
    check(tf.map_fn(lambda row: row > 2, X, dtype=tf.bool), X > 2)
    assert tf.map_fn(lambda row: row, X).shape.as_list() == [3, 2]


def test_map_fn_takes_and_gives_structures(session):
    given = {"x": X, "n": np.array([10, 20, 30], np.int32)}
    types = (tf.int32, [tf.float32])
    number, (row,) = tf.map_fn(lambda e: (e["n"] + 1, [e["x"] * 2]), given, dtype=types)
    values = session.run([number, row])
    assert values[0].tolist() == [11, 21, 31] and np.array_equal(values[1], X * 2)


def test_folds_go_over_all_parts_from_either_end(check):
    def minus(held, part):
        return held - part

    check(tf.foldl(minus, X), X[0] - X[1] - X[2])
    check(tf.foldr(minus, X), X[2] - X[1] - X[0])
    check(
        tf.foldl(minus, X, initializer=tf.constant([100.0, 200.0])),
        np.float32([100, 200]) - X.sum(0),
    )
    check(tf.foldr(lambda h, e: h * 10 + e, np.int32([1, 2, 3]), 4), np.int32(4321))
    fed = tf.placeholder(tf.int32, [None])
    check(tf.foldl(lambda h, e: h + e, fed, 7), np.int32(7), {fed: []})


def test_scan_keeps_what_comes_on_the_way(check, session):
    check(tf.scan(lambda held, part: held + part, X), np.cumsum(X, 0))
    check(tf.scan(lambda held, part: held + part, X, reverse=True), np.cumsum(X[::-1], 0)[::-1])
    check(tf.scan(lambda h, e: h + tf.reduce_sum(e), X, 0.0), np.cumsum(X.sum(1)))
    fed = tf.placeholder(tf.float32, [None])
    pairs = tf.scan(lambda h, _: (h[1], h[0] + h[1]), fed, initializer=(0, 1))
    values = session.run(pairs, {fed: np.zeros(6)})
    assert [part.tolist() for part in values] == [[1, 1, 2, 3, 5, 8], [1, 2, 3, 5, 8, 13]]


def test_what_functions_along_an_axis_refuse():
    for function in (tf.map_fn, tf.foldl, tf.foldr, tf.scan):
        with pytest.raises(TypeError, match="fn must be callable"):
            function(1, X)
        with pytest.raises(ValueError, match="1\\+ dimensional Tensors, not scalars"):
            function(lambda *parts: parts[0], 1.0)
        with pytest.raises(ValueError, match=r"first axis: \[2, 3\]"):
            function(lambda *parts: parts[0], (X, X[:2]))
    with pytest.raises(ValueError, match="dtype and results of fn"):
        tf.map_fn(lambda row: (row, row), X)
    with pytest.raises(ValueError, match="initializer and results of fn"):
        tf.scan(lambda held, part: (held, part), X, 0.0)
    with pytest.raises(ValueError, match="not an invariant"):
        tf.foldl(lambda held, part: tf.concat([held, part], 0), X)


# ---- TensorArray ---------------------------------------------------------------------------------


def test_a_tensor_array_is_filled_in_a_loop(check):
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
    count, array = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, a: (i + 1, a.write(i, tf.to_float(tf.stack([i, i * i])))),
        [0, array],
    )
    assert isinstance(array, tf.TensorArray) and array.element_shape.as_list() == [2]
    check(array.size(), np.int32(4))
    check(array.stack(), np.float32([[0, 0], [1, 1], [2, 4], [3, 9]]))
    check(count, np.int32(4))


def test_a_tensor_array_in_a_loop_of_limited_length_keeps_its_structure(check):
    made = tf.while_loop(
        lambda state: True,
        lambda state: [{"a": state["a"].write(state["i"], state["i"]), "i": state["i"] + 1}],
        [{"a": tf.TensorArray(tf.int32, 3), "i": tf.constant(0)}],
        maximum_iterations=3,
    )
    check(made["a"].stack(), np.int32([0, 1, 2]))


def test_a_tensor_array_gives_what_was_put_in(check):
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(X)
    check(array.read(1), X[1])
    check(array.gather([2, 0]), X[[2, 0]])
    check(array.concat(), X.ravel())
    check(array.identity().stack(), X)
    check(tf.TensorArray(tf.float32, 2).scatter([1, 0], X[:2]).stack(), X[[1, 0]])
    parts = tf.TensorArray(tf.float32, 2, infer_shape=False).split(X, [1, 2])
    check(parts.read(1), X[1:])
    again = tf.TensorArray(tf.float32, handle=array.handle, flow=array.flow)
    check(again.size(), np.int32(3))
    assert array.dtype == tf.float32 and array.read(0).shape.as_list() == [2]


def test_what_a_tensor_array_refuses(session):
    with pytest.raises(ValueError, match="Size must be provided"):
        tf.TensorArray(tf.float32)
    array = tf.TensorArray(tf.float32, 2)
    with pytest.raises(ValueError, match="both a handle and a size"):
        tf.TensorArray(tf.float32, 2, handle=array.handle)
    written = array.write(0, [1.0, 2.0])
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        written.write(1, [1.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(written.write(0, [1.0, 2.0]).read(0))


# ---- Masks, crops, positions ---------------------------------------------------------------------


def test_a_sequence_mask_marks_what_is_within(check):
    expected = np.array([[True, False, False], [True, True, True]])
    check(tf.sequence_mask([1, 3]), expected)
    check(tf.sequence_mask([1, 3], 4, tf.float32), np.float32([[1, 0, 0, 0], [1, 1, 1, 0]]))
    fed = tf.placeholder(tf.int64, [None, None])
    check(tf.sequence_mask(fed), expected[None], {fed: [[1, 3]]})
    check(tf.sequence_mask(fed), np.zeros([1, 1, 0], bool), {fed: [[-1]]})
    with pytest.raises(ValueError, match="maxlen must be scalar"):
        tf.sequence_mask([1, 3], [4])


def test_a_random_crop_is_a_part(session):
    image = np.arange(24).reshape(4, 6)
    crop = tf.random_crop(image, [2, 3], seed=1)
    seen = set()
    for _ in range(20):
        value = session.run(crop)
        row, column = divmod(value[0, 0], 6)
        assert np.array_equal(value, image[row : row + 2, column : column + 3])
        seen.add((row, column))
    assert len(seen) > 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need value.shape >= size"):
        session.run(tf.random_crop(tf.placeholder_with_default(image, None), [5, 3]))


def test_positions_in_order(check):
    x = np.array([[3, 1, 2], [-(2**31), 5, 5]], np.int32)
    check(tf.argsort(x), np.argsort(x, kind="stable").astype(np.int32))
    check(tf.argsort(x.astype(np.float32), 0), np.int32([[1, 0, 0], [0, 1, 1]]))
    check(tf.argsort(x, direction="DESCENDING"), np.int32([[0, 2, 1], [1, 2, 0]]))
    check(tf.argsort(np.uint8([7, 0, 255])), np.int32([1, 0, 2]))
    with pytest.raises(ValueError, match="Unknown direction"):
        tf.argsort(x, direction="up")
    with pytest.raises(ValueError, match="axis 2 of values of shape"):
        tf.argsort(x, axis=2)


def test_small_functions_are_those_of_numpy(check):
    check(tf.eye(2, 3), np.eye(2, 3, dtype=np.float32))
    check(tf.eye(2, batch_shape=[3], dtype=tf.int32), np.tile(np.eye(2, dtype=np.int32), [3, 1, 1]))
    x = np.float32([-200, -1, 0, 1, 200])
    check(tf.log_sigmoid(x), -np.logaddexp(0, -x))
    check(tf.parallel_stack([X, X + 1]), np.stack([X, X + 1]))
    check(tf.unsorted_segment_sum(X, [1, 0, 1], 3), np.float32([X[1], X[0] + X[2], [0, 0]]))
    with tf.op_scope([], None, "late") as scope:
        assert scope == "late/"

"""Ragged tensors as programs use them; values are held against TensorFlow's by the interop tests."""

import subprocess
import sys

import numpy as np
import pytest

import millrace as tf

ROWS = [[3, 1, 4], [], [1, 5]]


@pytest.fixture
def rows():
    return tf.ragged.constant(ROWS)


def value_of(rows, dtype=np.int32):
    return tf.ragged.constant_value(rows, dtype=dtype)


def test_a_session_gives_the_value_of_a_ragged_tensor_as_nested_lists(session, rows):
    value = session.run(rows)
    assert isinstance(value, tf.ragged.RaggedTensorValue)
    assert value.to_list() == ROWS and value.shape == (3, None)
    assert value.row_splits.tolist() == [0, 3, 3, 5] and value.dtype == np.int32
    fetched = session.run({"both": [rows, tf.reduce_sum(rows, 1)]})
    assert fetched["both"][0].to_list() == ROWS and fetched["both"][1].tolist() == [8, 0, 6]
    assert rows.eval(session=session).to_list() == ROWS
    deep = tf.ragged.constant([[["a"], []], []])
    assert session.run(deep).to_list() == [[[b"a"], []], []]
    assert session.run(deep).shape == (2, None, None)


def test_ragged_tensors_are_fed_again_and_again(session):
    fed = tf.ragged.placeholder(tf.int32, 1)
    doubled = fed * 2
    for each in ([[1], [2, 3]], [[], [4]], [[]]):
        want = [[2 * number for number in row] for row in each]
        assert session.run(doubled, {fed: value_of(each)}).to_list() == want
    deep = tf.ragged.placeholder(tf.float32, 2, value_shape=[2])
    assert deep.shape.as_list() == [None, None, None, 2]
    value = tf.ragged.constant_value(
        [[[[1, 2]], []]], dtype=np.float32, ragged_rank=2, inner_shape=(2,)
    )
    assert session.run(tf.reduce_sum(deep), {deep: value}) == 3


def test_what_is_no_value_of_it_cannot_be_fed_for_a_ragged_tensor(session):
    fed = tf.ragged.placeholder(tf.int32, 1)
    for wrong in ([[1], [2]], np.zeros((2, 2)), tf.ragged.constant_value([[[1]]])):
        with pytest.raises(
            TypeError, match="must be a tf.ragged.RaggedTensorValue of ragged_rank 1"
        ):
            session.run(fed, {fed: wrong})


def test_bad_partitions_fail_when_they_are_seen(session):
    make = tf.RaggedTensor.from_row_splits
    with pytest.raises(ValueError, match="row_splits tensor may not be empty"):
        make([1], tf.zeros([0], tf.int64))
    with pytest.raises(ValueError, match="must have dtype int32 or int64, not float32"):
        make([1], [0.0, 1.0])
    fed = tf.placeholder(tf.int64, [None])
    made = make([1, 2, 3], fed)
    assert session.run(made, {fed: [0, 3, 3]}).to_list() == [[1, 2, 3], []]
    for splits in ([1, 3], [0, 2], [0, 4], [0, 2, 1, 3]):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="do not form a valid RaggedTensor"
        ):
            session.run(made, {fed: splits})


def test_unchecked_partitions_are_still_checked_by_the_ops_that_read_memory_by_them(session):
    made = tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 7], validate=False)
    for wrong in (made.to_tensor(), made.to_sparse(), tf.gather(made, [1])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(wrong)


def test_functions_of_tensors_say_that_they_take_no_ragged_ones(rows):
    for call in (
        lambda: tf.matmul(rows, rows),
        lambda: tf.reshape(rows, [-1]),
        lambda: tf.nn.softmax(rows),
        lambda: tf.convert_to_tensor(rows),
    ):
        with pytest.raises(TypeError, match="to_tensor"):
            call()
    with pytest.raises(TypeError, match="map_flat_values"):
        tf.reshape(rows, [-1])


def test_a_call_that_a_function_refuses_for_other_reasons_is_refused_as_before():
    with pytest.raises(ValueError, match="both be non-None"):
        tf.where([True], [1])
    with pytest.raises(TypeError, match="float32"):
        tf.add(tf.constant(1), tf.constant(1.0))


def test_a_ragged_tensor_is_a_tensor_but_no_list(rows):
    assert tf.is_tensor(rows)
    for wrong in (lambda: list(rows), lambda: bool(rows), lambda: np.array(rows)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="session.run"):
        rows.to_list()
    with pytest.raises(ValueError, match="Cannot index into an inner ragged dimension"):
        rows[:, 0]


def test_rows_that_must_be_alike_are_compared_when_it_runs(session, rows):
    fed = tf.ragged.placeholder(tf.int32, 1)
    total = rows + fed
    assert session.run(total, {fed: value_of([[1, 2, 3], [], [4, 5]])}).to_list() == [
        [4, 3, 7],
        [],
        [5, 10],
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
        session.run(total, {fed: value_of([[1, 2], [3], [4, 5]])})
    column = tf.placeholder(tf.int32, [None, None])
    scaled = rows * column
    assert session.run(scaled, {column: [[1], [2], [3]]}).to_list() == [[3, 1, 4], [], [3, 15]]
    assert session.run(scaled, {column: [[2]]}).to_list() == [[6, 2, 8], [], [2, 10]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not broadcast"):
        session.run(scaled, {column: [[1], [2]]})


def test_a_gather_inside_of_rows_does_not_reach_into_the_next_one(session, rows):
    made = tf.gather(rows, tf.ragged.constant([[0], [], [2]]), batch_dims=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in their rows"):
        session.run(made)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in their rows"):
        session.run(tf.gather_nd(rows, [[2, 2]]))


def test_int32_splits_stay_and_are_not_mixed_with_others_in_silence(session):
    narrow = tf.ragged.constant(ROWS, row_splits_dtype=tf.int32)
    assert (narrow * 2)[1:].row_splits.dtype == tf.int32
    assert tf.concat([narrow, narrow], 1).row_splits.dtype == tf.int32
    with pytest.raises(ValueError, match="with_row_splits_dtype"):
        narrow + tf.ragged.constant(ROWS)
    both = narrow.with_row_splits_dtype(tf.int64) + tf.ragged.constant(ROWS)
    assert session.run(both).to_list() == [[6, 2, 8], [], [2, 10]]


def test_programs_without_ragged_tensors_do_not_load_them():
    program = "import millrace, sys; print([m for m in sys.modules if '_ragged' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr

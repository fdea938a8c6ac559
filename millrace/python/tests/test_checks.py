"""tf.assert_*: what is known fails when the graph is built, the rest when it runs."""

import numpy as np
import pytest

import millrace as tf

# check -> (values that pass, values that fail)
PAIRS = {
    "assert_equal": ([1, 2], [1, 2], [1, 3]),
    "assert_none_equal": ([1, 2], [2, 1], [3, 2]),
    "assert_less": ([1, 2], [2, 3], [2, 2]),
    "assert_less_equal": ([1, 2], [1, 3], [0, 2]),
    "assert_greater": ([1, 2], [0, 1], [0, 2]),
    "assert_greater_equal": ([1, 2], [1, 1], [1, 3]),
}
SIGNS = {
    "assert_positive": ([1, 2], [1, 0]),
    "assert_negative": ([-1, -2], [-1, 0]),
    "assert_non_negative": ([0, 2], [1, -1]),
    "assert_non_positive": ([0, -2], [-1, 1]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_comparison_of_two_holds_for_all_elements(name, session):
    x, good, bad = PAIRS[name]
    check = getattr(tf, name)
    session.run(check(x, good))
    with pytest.raises(tf.errors.InvalidArgumentError, match="told.*did not hold element-wise"):
        check(x, bad, message="told")
    fed = tf.placeholder(tf.int32, [2])
    operation = check(fed, bad, message="told")
    assert operation.name.startswith(name) and getattr(tf.debugging, name) is check
    with pytest.raises(tf.errors.InvalidArgumentError, match="told.*did not hold element-wise"):
        session.run(operation, {fed: x})
    session.run(check(fed, good), {fed: x})


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_holds_for_all_elements(name, session):
    good, bad = SIGNS[name]
    check = getattr(tf, name)
    session.run(check(np.float32(good)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        check(bad)
    fed = tf.placeholder(tf.float32, None)
    session.run(check(fed), {fed: good})
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        session.run(check(fed), {fed: bad})


def test_ranks_are_checked_as_soon_as_they_are_known(session):
    x, fed = tf.zeros([2, 3]), tf.placeholder(tf.float32, None)
    session.run([tf.assert_rank(x, 2), tf.assert_rank_at_least(x, 1), tf.assert_rank_in(x, (0, 2))])
    with pytest.raises(ValueError, match="told Tensor zeros:0 must have rank 1. Received rank 2"):
        tf.assert_rank(x, 1, message="told")
    with pytest.raises(ValueError, match="must have rank at least 3"):
        tf.assert_rank_at_least(x, 3)
    with pytest.raises(ValueError, match="must have rank in 0 or 1"):
        tf.assert_rank_in(x, [0, 1])
    with pytest.raises(ValueError, match="Rank must be a scalar"):
        tf.assert_rank(x, [2])
    for check in (tf.assert_rank(fed, 1), tf.assert_rank_in(fed, [0, 1])):
        session.run(check, {fed: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank"):
            session.run(check, {fed: [[1.0]]})


def test_types_are_checked_at_once(session):
    x = tf.constant([1, 2])
    session.run([tf.assert_type(x, tf.int32), tf.assert_integer(x)])
    assert tf.assert_scalar(x[0]).shape.ndims == 0
    with pytest.raises(TypeError, match="Const:0 must be of type float32, not int32"):
        tf.assert_type(x, tf.float32)
    with pytest.raises(TypeError, match='Expected "x" to be integer type. Found: float32'):
        tf.assert_integer(1.0)
    with pytest.raises(ValueError, match=r"Expected scalar shape for Const:0, saw shape: \(2,\)"):
        tf.assert_scalar(x)
    assert tf.is_numeric_tensor(x) and not tf.is_numeric_tensor(tf.constant("a"))
    assert not tf.is_numeric_tensor(3)


def test_what_depends_on_a_check_waits_for_it(session):
    fed = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.assert_positive(fed)]):
        root = tf.sqrt(fed)
    assert session.run(root, {fed: 4.0}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(root, {fed: -4.0})

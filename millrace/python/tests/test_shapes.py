import numpy as np
import pytest

import millrace as tf
from millrace import TensorShape


def test_a_shape_is_made_from_lists_numbers_and_nothing():
    assert TensorShape([2, None]).as_list() == [2, None]
    assert TensorShape(3).as_list() == [3]
    assert TensorShape(None).ndims is None
    assert TensorShape([]).as_list() == []
    assert TensorShape([tf.Dimension(4)]) == [4]


def test_shapes_merge_what_both_know():
    merged = TensorShape([None, 3]).merge_with([2, None])
    assert merged == TensorShape([2, 3])
    assert TensorShape(None).merge_with([1]) == [1]
    with pytest.raises(ValueError, match="not compatible"):
        TensorShape([2]).merge_with([3])


def test_indexing_gives_dimensions_and_slices_give_shapes():
    shape = TensorShape([2, 3, None])
    assert shape[1].value == 3
    assert shape[1:].as_list() == [3, None]
    assert [dim.value for dim in shape] == [2, 3, None]
    assert len(shape) == 3


def test_an_unknown_rank_has_no_length_and_no_list():
    with pytest.raises(ValueError):
        len(TensorShape(None))
    with pytest.raises(ValueError):
        TensorShape(None).as_list()


def test_shapes_print_as_tensorflow_prints_them():
    assert str(TensorShape([2, None])) == "(2, ?)"
    assert str(TensorShape([2])) == "(2,)"
    assert str(TensorShape([])) == "()"
    assert str(TensorShape(None)) == "<unknown>"
    assert repr(TensorShape([2, None])) == "TensorShape([Dimension(2), Dimension(None)])"


def test_ranks_can_be_demanded():
    assert TensorShape(None).with_rank(2).as_list() == [None, None]
    with pytest.raises(ValueError):
        TensorShape([1]).with_rank(2)
    with pytest.raises(ValueError):
        TensorShape([1]).assert_is_fully_defined() or TensorShape([None]).assert_is_fully_defined()


def test_arithmetic_with_an_unknown_dimension_is_unknown():
    assert (tf.Dimension(3) * 2).value == 6
    assert (7 // tf.Dimension(2)).value == 3
    assert (tf.Dimension(None) + 1).value is None
    assert (tf.Dimension(None) == 3) is None


def test_sizes_below_zero_are_refused():
    with pytest.raises(ValueError):
        TensorShape([-2])
    with pytest.raises(ValueError):
        tf.Dimension(-1)


@pytest.mark.parametrize("given", [list, np.array, TensorShape, tf.constant])
def test_sizes_above_32_bits_stay_what_they_are(given):
    size = 2**32 + 3
    shape = given([size])
    x = tf.placeholder(tf.float32)
    for made in (tf.zeros(shape), tf.ones(shape), tf.fill(shape, 1.0), tf.reshape(x, shape)):
        assert made.shape.as_list() == [size]
    assert tf.random_uniform(shape).shape.as_list() == [size]
    assert tf.placeholder(tf.float32, [size])[size - 1].shape.as_list() == []


def test_small_sizes_make_shapes_of_32_bits():
    x = tf.placeholder(tf.float32)
    for shape in ([3], TensorShape([3])):
        assert tf.reshape(x, shape).op.inputs[1].dtype == tf.int32
    # An array has a type, which TensorFlow keeps too.
    assert tf.reshape(x, np.array([3])).op.inputs[1].dtype == tf.int64


def test_the_shape_of_something_large_needs_a_type_that_holds_it():
    x = tf.placeholder(tf.float32, [2**32 + 3])
    with pytest.raises(TypeError, match="Expected int32"):
        tf.shape(x)
    with pytest.raises(TypeError, match="Expected int32"):
        tf.size(x)
    with pytest.raises(TypeError, match="Expected int32"):
        tf.convert_to_tensor(x.shape, tf.int32)
    assert tf.shape(x, out_type=tf.int64).dtype == tf.int64


def test_a_size_of_what_is_made_may_be_a_tensor(session):
    x = tf.placeholder(tf.float32, [None])
    made = [
        tf.zeros([tf.size(x), 2]),
        tf.ones([tf.shape(x)[0]]),
        tf.zeros([2, tf.size(x)], tf.int32),
    ]
    shapes = [value.shape for value in session.run(made, {x: [1.0, 2.0, 3.0]})]
    assert shapes == [(3, 2), (3,), (2, 3)]
    with pytest.raises(TypeError):
        tf.TensorShape([tf.size(x)])
    with pytest.raises(TypeError):
        tf.TensorShape(["two"])


def test_equal_of_sizes_that_may_not_fit_has_a_shape_that_is_open():
    known, open_ended = tf.constant([1, 2]), tf.placeholder(tf.int32, [None])
    for compare in (tf.raw_ops.Equal, tf.raw_ops.NotEqual):
        assert compare(x=known, y=open_ended).shape.as_list() == [2]
        lenient = compare(x=known, y=open_ended, incompatible_shape_error=False)
        assert lenient.shape.ndims is None
        assert compare(x=known, y=known, incompatible_shape_error=False).shape.as_list() == [2]
    with tf.Session() as session:
        assert session.run(tf.reduce_all(lenient), {open_ended: [1, 2, 3]})

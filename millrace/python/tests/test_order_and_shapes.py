"""tf.sort, searchsorted, repeat, where_v2, broadcast shapes, switch_case, and values as messages."""

import numpy as np
import pytest

import millrace as tf

ROWS = np.array([[3, 1, 2], [9, -7, 8]], np.int32)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [np.int32, np.float64, np.uint8])
def test_values_are_sorted_along_an_axis(check, axis, dtype):
    rows = np.abs(ROWS).astype(dtype) if dtype == np.uint8 else ROWS.astype(dtype)
    check(tf.sort(rows, axis=axis), np.sort(rows, axis))
    check(tf.sort(rows, axis, "DESCENDING"), np.flip(np.sort(rows, axis), axis))


def test_the_gradient_of_sorting_goes_where_values_came_from(session):
    x = tf.constant([3.0, 1.0, 2.0])
    (gradient,) = tf.gradients(tf.sort(x) * [10.0, 20.0, 30.0], [x])
    assert session.run(gradient).tolist() == [30.0, 10.0, 20.0]
    with pytest.raises(ValueError, match="direction"):
        tf.sort(x, direction="UP")


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_rows(check, side):
    rows = np.array([[[0, 3, 9, 9, 10]], [[1, 2, 3, 4, 5]]], np.float32)
    values = np.array([[[2, 4, 9]], [[0, 2, 6]]], np.float32)
    expected = [[np.searchsorted(rows[i, 0], values[i, 0], side)] for i in range(2)]
    check(tf.searchsorted(rows, values, side=side), np.array(expected, np.int32))
    found = tf.searchsorted([1, 3], [2], side=side, out_type=tf.int64)
    check(found, np.array([1], np.int64))
    with pytest.raises(ValueError, match="either 'right' or 'left'"):
        tf.searchsorted(rows, values, side="middle")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_parts_are_repeated(check, session, axis):
    check(tf.repeat(ROWS, 2, axis=axis), np.repeat(ROWS, 2, axis))
    length = ROWS.size if axis is None else ROWS.shape[axis]
    counts = np.arange(length) % 3
    made = tf.repeat(ROWS, counts, axis=axis)
    check(made, np.repeat(ROWS, counts, axis))
    fed = tf.placeholder(tf.int32, [None, None])
    rows = fed if axis is not None else tf.reshape(fed, [-1])
    check(tf.repeat(rows, counts, axis=axis), np.repeat(ROWS, counts, axis), {fed: ROWS})
    check(tf.repeat(fed, 3, axis=axis), np.repeat(ROWS, 3, axis), {fed: ROWS})


def test_repeated_parts_know_their_shape_and_add_up_their_gradients(session):
    x = tf.constant([1.0, 2.0])
    assert tf.repeat(tf.zeros([2, 3]), 4, axis=1).shape.as_list() == [2, 12]
    (gradient,) = tf.gradients(tf.repeat(x, [1, 3]), [x])
    assert session.run(gradient).tolist() == [1.0, 3.0]
    assert session.run(tf.repeat(["a", "b"], [2, 1])).tolist() == [b"a", b"a", b"b"]


def test_elements_are_chosen_between_values_that_broadcast(check):
    check(tf.where_v2([True, False], 1.0, [[2.0, 3.0]]), np.array([[1, 3]], np.float32))
    check(tf.where_v2([False, True]), np.array([[1]]))
    with pytest.raises(ValueError, match="both"):
        tf.where_v2([True], 1.0)


def test_shapes_that_broadcast(session):
    shape = tf.broadcast_static_shape(tf.TensorShape([1, 3]), tf.TensorShape([5, 1]))
    assert shape.as_list() == [5, 3]
    known = tf.broadcast_static_shape(tf.TensorShape([None, 3, 1]), tf.TensorShape([2, None, 1]))
    assert known.as_list() == [2, 3, 1]
    assert tf.broadcast_static_shape(tf.TensorShape([None]), tf.TensorShape([1])).as_list() == [
        None
    ]
    assert tf.broadcast_static_shape(tf.TensorShape(None), shape).ndims is None
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
    assert session.run(tf.broadcast_dynamic_shape([1, 3], [5, 1])).tolist() == [5, 3]


def test_a_number_says_which_function_gives_the_result(session):
    index = tf.placeholder(tf.int32, [])
    x = tf.constant(2.0)
    made = tf.switch_case(index, [lambda: x, lambda: x * 10.0], default=lambda: -x)
    assert [session.run(made, {index: i}) for i in (0, 1, 2, -1)] == [2.0, 20.0, -2.0, -2.0]
    last = tf.switch_case(index, {1: lambda: x * 3.0, 0: lambda: x})
    assert [session.run(last, {index: i}) for i in (0, 1, 5)] == [2.0, 6.0, 6.0]
    (gradient,) = tf.gradients(made, [x])
    assert session.run(gradient, {index: 1}) == 10.0
    with pytest.raises(ValueError, match="contiguous range"):
        tf.switch_case(index, {0: lambda: x, 2: lambda: x})
    with pytest.raises(TypeError, match="must be a Python `int`"):
        tf.switch_case(index, {"a": lambda: x})
    with pytest.raises(ValueError, match="at least one"):
        tf.switch_case(index, [])


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array([1 + 2j], np.complex64),
        np.array(7, np.int64),
        np.array([True, False]),
        np.zeros([0, 2], np.float16),
    ],
)
def test_arrays_become_messages_and_come_back(value):
    made = tf.make_tensor_proto(value)
    again = tf.make_ndarray(type(made).FromString(made.SerializeToString()))
    assert again.dtype == value.dtype and np.array_equal(again, value)
    assert again.shape == value.shape


def test_messages_of_strings_and_of_fewer_values_than_elements():
    assert tf.make_ndarray(tf.make_tensor_proto(["a", b"b"])).tolist() == [b"a", b"b"]
    filled = tf.make_ndarray(tf.make_tensor_proto(1.5, shape=[2, 2]))
    assert filled.tolist() == [[1.5, 1.5], [1.5, 1.5]] and filled.dtype == np.float32
    proto = tf.make_tensor_proto(0.0, shape=[3])
    proto.tensor_content = b""
    proto.float_val.extend([1.0, 2.0])
    assert tf.make_ndarray(proto).tolist() == [1.0, 2.0, 2.0]
    proto.float_val.extend([3.0, 4.0])
    with pytest.raises(ValueError, match="3 elements has 4 values"):
        tf.make_ndarray(proto)
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(ValueError, match="can't be broadcast"):
        tf.make_tensor_proto([1, 2], shape=[4], allow_broadcast=True)


def test_what_is_a_tensor():
    assert tf.is_tensor(tf.constant(1)) and tf.is_tensor(tf.Variable(1))
    assert tf.is_tensor(tf.SparseTensor([[0]], [1], [1]))
    assert not tf.is_tensor(np.ones(2)) and not tf.is_tensor(1)
    assert tf.get_static_value(tf.constant(3)) == 3


def test_slices_stay_slices():
    slices = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([0]))
    assert tf.convert_to_tensor_or_indexed_slices(slices) is slices
    assert tf.convert_to_tensor_or_indexed_slices([1.0]).dtype == tf.float32
    assert tf.convert_to_tensor_or_indexed_slices(None) is None
    with pytest.raises(ValueError, match="IndexedSlices of dtype float32"):
        tf.convert_to_tensor_or_indexed_slices(slices, tf.int32)


def test_the_logger_is_pythons():
    assert tf.get_logger().name == "millrace"


def test_switches_of_tensorflow_2_leave_all_as_it_is():
    for switch in ("v2_tensorshape", "tensor_equality", "control_flow_v2"):
        getattr(tf, f"disable_{switch}")()
    tf.enable_control_flow_v2()
    assert tf.control_flow_v2_enabled() is False
    assert isinstance(tf.zeros([2]).shape[0], tf.Dimension)

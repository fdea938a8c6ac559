"""What applying an op checks before anything runs."""

import numpy as np
import pytest

import millrace as tf


def test_types_follow_the_first_tensor_among_the_inputs():
    x = tf.placeholder(tf.float64)
    assert tf.add(x, 1).dtype == tf.float64
    assert tf.add(1, x).dtype == tf.float64
    assert (1 + x).dtype == tf.float64


def test_types_that_differ_are_refused_in_tensorflows_words():
    with pytest.raises(
        TypeError, match="Input 'y' of 'Add' Op has type float32 that does not match"
    ):
        tf.add(tf.constant(1), tf.constant(1.0))


def test_types_that_an_op_does_not_take_are_refused():
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.matmul([["a"]], [["b"]])


def test_shapes_that_contradict_each_other_are_refused(graph):
    with pytest.raises(ValueError):
        tf.add(tf.zeros([2]), tf.zeros([3]))
    tf.add(tf.zeros([2]), tf.zeros([2]))  # the graph is as it was


def test_a_plain_tensor_is_no_variable():
    with pytest.raises(TypeError, match="be a mutable tensor"):
        tf.raw_ops.Assign(ref=tf.constant(1.0), value=2.0)


def test_an_unknown_op_is_suggested_another():
    with pytest.raises(AttributeError, match="Assign"):
        tf.raw_ops.Asign
    with pytest.raises(ValueError, match="Assign"):
        from millrace._graph.apply import apply_op

        apply_op("Asign", (), {})


def test_an_attribute_of_the_wrong_kind_names_itself():
    with pytest.raises(ValueError, match="capacity"):
        tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], capacity="many")


def test_tensors_have_no_truth_and_no_length():
    x = tf.constant([1, 2])
    with pytest.raises(TypeError, match="not allowed"):
        bool(x)
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(NotImplementedError):
        np.array(x)


def test_wrappers_document_their_arguments():
    assert "ref: a mutable Tensor" in tf.raw_ops.AssignAdd.__doc__
    assert "use_locking" in tf.raw_ops.AssignAdd.__doc__


def test_raw_ops_take_keywords_only():
    with pytest.raises(TypeError):
        tf.raw_ops.Add(1, 2)


def test_names_below_tf_are_there():
    import millrace.compat.v1

    assert millrace.compat.v1 is tf
    assert tf.compat.v1.Session is tf.Session
    assert tf.math.add(1, 2).op.type == "Add"
    assert tf.train.ClusterSpec is tf.ClusterSpec
    assert "matmul" in dir(tf) and "train" in dir(tf)
    with pytest.raises(AttributeError):
        tf.no_such_thing
    with pytest.raises(AttributeError):
        tf.math.no_such_thing


# ---- Constants -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, dtype",
    [
        (1, tf.int32),
        (2**40, tf.int64),
        (1.5, tf.float32),
        (True, tf.bool),
        (1j, tf.complex128),
        ("text", tf.string),
        (b"bytes", tf.string),
        ([1, 2.5], tf.float32),
        ([[1], [2]], tf.int32),
        ([], tf.float32),
        (np.float64(1), tf.float64),
        (np.zeros(3, np.int64), tf.int64),
        (np.array(["a"]), tf.string),
        (np.zeros(2, ">i4"), tf.int32),
    ],
)
def test_the_type_of_a_constant_follows_from_its_value(value, dtype):
    assert tf.constant(value).dtype == dtype


@pytest.mark.parametrize(
    "value, dtype",
    [
        (1.5, tf.int32),
        ("a", tf.int32),
        (1, tf.string),
        (300, tf.uint8),
        (1, tf.bool),
        (1j, tf.float32),
    ],
)
def test_constants_that_do_not_fit_their_type_are_refused(value, dtype):
    with pytest.raises(TypeError):
        tf.constant(value, dtype)


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="non-rectangular"):
        tf.constant([[1, 2], [3]])


def test_a_constant_is_filled_up_with_its_last_value():
    assert tf.constant_value(tf.constant([1, 2], shape=[2, 2])).tolist() == [[1, 2], [2, 2]]
    with pytest.raises(ValueError):
        tf.constant([1, 2, 3], shape=[2])


def test_a_list_with_tensors_in_it_becomes_a_tensor():
    x = tf.placeholder(tf.float32, [])
    packed = tf.convert_to_tensor([x, 2, 3.5])
    assert packed.op.type == "Pack" and packed.dtype == tf.float32
    assert packed.shape.as_list() == [3]
    nested = tf.convert_to_tensor([[x, 1.0], [2.0, x]])
    assert nested.shape.as_list() == [2, 2]


def test_known_shapes_become_constants():
    x = tf.placeholder(tf.float32, [2, 3])
    assert tf.constant_value(tf.convert_to_tensor(x.shape)).tolist() == [2, 3]
    assert tf.constant_value(tf.convert_to_tensor(x.shape[1])) == 3
    assert tf.constant_value(tf.raw_ops.Shape(input=x)).tolist() == [2, 3]
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.TensorShape([None]))


def test_shapes_can_be_made_known():
    x = tf.placeholder(tf.float32)
    x.set_shape([None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError):
        x.set_shape([5, 3])


def test_types_of_the_program_can_be_taught():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    tf.register_tensor_conversion_function(
        Celsius,
        lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees, dtype),
    )
    assert tf.constant_value(tf.convert_to_tensor(Celsius(20.0))) == 20.0


@pytest.mark.parametrize(
    "given, kept, fallen_back",
    [
        (np.float64, tf.float64, tf.float32),
        (np.uint8, tf.uint8, tf.float32),
        (np.int64, tf.int64, tf.float32),
        (np.float16, tf.float16, tf.float16),
        (np.bool_, tf.float32, tf.float32),
    ],
)
def test_an_array_keeps_a_type_that_the_op_allows_and_takes_the_usual_one_else(
    given, kept, fallen_back
):
    image = np.ones((1, 4, 4, 1), given)
    sizes = [1, 1, 1, 1]
    with tf.Graph().as_default():
        pooled = tf.raw_ops.MaxPool(input=image, ksize=sizes, strides=sizes, padding="SAME")
        assert pooled.dtype == kept
        assert tf.raw_ops.LRN(input=image).dtype == fallen_back
        # Lists take the usual type, as ever; what has a type by another input takes that.
        assert tf.raw_ops.LRN(input=np.ones((1, 4, 4, 1)).tolist()).dtype == tf.float32
        assert tf.cumsum(np.ones(3, np.float32), axis=np.int64(0)).op.inputs[1].dtype == tf.int64

"""tf.TypeSpec and its kin: what is known of values."""

import numpy as np
import pytest

import millrace as tf


def test_specs_say_what_their_values_are_made_of():
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 1]], [2.0], [3, 4])
        spec = tf.type_spec_from_value(sparse)
        assert spec == tf.SparseTensorSpec([3, 4], tf.float32)
        assert spec.value_type is tf.SparseTensor
        parts = spec.components(sparse)
        for tensor, part in zip(parts, spec.component_specs()):
            assert part.is_compatible_with(tensor)
        assert spec.from_components(parts).values is sparse.values
        rows = tf.ragged.constant([[1, 2], [3]])
        spec = tf.type_spec_from_value(rows)
        assert spec == tf.RaggedTensorSpec([2, None], tf.int32, 1, tf.int64)
        assert repr(spec).startswith("RaggedTensorSpec(TensorShape([")
        assert spec.from_components(spec.components(rows)).flat_values is rows.flat_values
        array = tf.TensorArray(tf.int32, 3, element_shape=[2])
        assert tf.type_spec_from_value(array) == tf.TensorArraySpec([2], tf.int32)
        slices = tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 5]), tf.constant([9, 3]))
        assert tf.type_spec_from_value(slices) == tf.IndexedSlicesSpec(
            [9, 3], tf.float32, tf.int32, tf.int32, [2]
        )


@pytest.mark.parametrize(
    "value, spec",
    [
        ([1.0, 2.0], tf.TensorSpec([2], tf.float32)),
        (np.zeros([2, 3], np.int64), tf.TensorSpec([2, 3], tf.int64)),
        ("a", tf.TensorSpec([], tf.string)),
        (True, tf.TensorSpec([], tf.bool)),
    ],
)
def test_constants_have_the_specs_of_what_they_become(value, spec):
    assert tf.type_spec_from_value(value) == spec and spec.is_compatible_with(value)


def test_what_has_no_spec_is_refused():
    for value in (object(), [[1], [2, 3]]):
        with pytest.raises(TypeError, match="Could not build a TypeSpec"):
            tf.type_spec_from_value(value)


def test_specs_are_compatible_by_class_type_and_shape_and_have_something_in_common():
    wide, narrow = tf.SparseTensorSpec([None, 2]), tf.SparseTensorSpec([5, 2])
    assert wide.is_compatible_with(narrow) and wide != narrow and hash(wide) != hash(narrow)
    assert wide.most_specific_compatible_type(narrow) == wide
    assert tf.SparseTensorSpec([4, 2]).most_specific_compatible_type(narrow) == wide
    assert not wide.is_compatible_with(tf.SparseTensorSpec([None, 3]))
    assert not wide.is_compatible_with(tf.TensorSpec([5, 2]))
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        wide.most_specific_compatible_type(tf.SparseTensorSpec([5, 2], tf.int32))
    a, b = tf.TensorSpec([1, 2], name="x"), tf.TensorSpec([1, 3], name="x")
    assert a.most_specific_compatible_type(b) == tf.TensorSpec([1, None], name="x")
    pairs = tf.data.DatasetSpec((a, {"b": wide})), tf.data.DatasetSpec((b, {"b": narrow}))
    common = pairs[0].most_specific_compatible_type(pairs[1])
    assert common.element_spec == (tf.TensorSpec([1, None], name="x"), {"b": wide})


def test_ragged_specs_need_a_rank_that_is_above_the_ragged_ones():
    assert tf.RaggedTensorSpec([2, None, None]).ragged_rank == 2
    with pytest.raises(ValueError, match="Must specify ragged_rank"):
        tf.RaggedTensorSpec(None)
    with pytest.raises(ValueError, match="must be less than rank"):
        tf.RaggedTensorSpec([2, None], ragged_rank=2)
    with pytest.raises(TypeError, match="must be an int"):
        tf.RaggedTensorSpec(None, ragged_rank="1")


def test_bounded_specs_say_between_which_numbers_values_are():
    spec = tf.contrib.framework.BoundedTensorSpec([2, 2], tf.int32, 0, [3, 4], "x")
    assert spec.minimum == 0 and spec.maximum.tolist() == [3, 4] and spec.name == "x"
    assert spec != tf.contrib.framework.BoundedTensorSpec([2, 2], tf.int32, 0, 4, "x")
    with pytest.raises(ValueError):
        tf.contrib.framework.BoundedTensorSpec([2, 2], tf.int32, 0, [1, 2, 3])
    widest = tf.contrib.framework.BoundedTensorSpec.from_spec(tf.TensorSpec([], tf.uint8))
    assert (widest.minimum, widest.maximum) == (0, 255)

"""What tf.contrib.data has of transformations, and tf.data.experimental has not."""

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.dataset import Dataset
from millrace._graph.operation import Tensor
from millrace._values.tensor_shape import TensorShape

__all__ = ["assert_element_shape", "sliding_window_batch"]


def sliding_window_batch(window_size, stride=None, window_shift=None, window_stride=1):
    """Groups of elements that overlap: whole windows alone.

    Args:
      window_size: how many elements make a group.
      stride: the older name of window_shift.
      window_shift: how many elements a group begins after the one before; 1 if None.
      window_stride: how far elements of a group are from each other.

    Returns:
      a function from a Dataset to a Dataset.

    Raises:
      ValueError: if both stride and window_shift are given.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = stride or window_shift or 1

    def whole(*windows):
        window = elements.unpacked_one(windows)
        parts = elements.map_structure(lambda each: each.batch(window_size), window)
        return Dataset.zip(parts) if elements.is_nested(parts) else parts

    def apply(dataset):
        windows = dataset.window(window_size, shift, window_stride, drop_remainder=True)
        return windows.flat_map(whole)

    return apply


def assert_element_shape(expected_shapes):
    """A check that elements have these shapes, which are known from then on.

    Args:
      expected_shapes: TensorShapes in the structure of an element.

    Returns:
      a function from a Dataset to a Dataset.

    Raises:
      ValueError: if a shape that is known already is another one, there are more or fewer, or one is told of a
        sparse or ragged component. An element that has another one ends the step that asks for it with
        InvalidArgumentError.
    """
    shapes = [TensorShape(each) for each in elements.flatten(expected_shapes)]

    def checked(*element):
        whole = elements.unpacked_one(element)
        leaves = elements.flatten(whole)
        if len(leaves) != len(shapes):
            raise ValueError(
                f"assert_element_shape: {len(shapes)} shapes for elements of {len(leaves)} components"
            )
        return elements.pack(whole, [_ensured(*each) for each in zip(leaves, shapes)])

    return lambda dataset: dataset.map(checked)


def _ensured(leaf, shape):
    if shape.ndims is None:
        return leaf
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"assert_element_shape: {leaf} is sparse or ragged; None leaves its shape open"
        )
    leaf.shape.assert_is_compatible_with(shape)
    return gen_ops.ensure_shape(leaf, shape=shape)

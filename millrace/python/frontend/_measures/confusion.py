"""tf.confusion_matrix: how often each class was taken for each."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import Assert, with_dependencies
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._measures.ranks import remove_squeezable_dimensions
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import ones_like, reshape
from millrace._ops.reductions import reduce_all, reduce_max
from millrace._values import dtypes


def confusion_matrix(
    labels, predictions, num_classes=None, dtype=dtypes.int32, name=None, weights=None
):
    """A matrix whose element [i, j] counts the predictions of class j where the label is i.

    Args:
      labels, predictions: vectors of numbers of classes, of one size.
      num_classes: how many classes there are; if None, one more than the largest number.
      dtype: the type of the counts.
      name: the name scope.
      weights: what each counts; None for 1.

    Returns:
      a Tensor of shape [num_classes, num_classes].

    Raises:
      ValueError: if shapes differ. InvalidArgumentError when it runs, if a number is none of a class.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]) as scope:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        labels = _classes(labels, num_classes, "labels")
        predictions = _classes(predictions, num_classes, "predictions")
        if num_classes is None:
            largest = gen_ops.maximum(reduce_max(predictions), reduce_max(labels))
            number = gen_ops.maximum(largest, -1) + 1
        else:
            number = cast(convert(num_classes), dtypes.int64)
        dtype = dtypes.as_dtype(dtype)
        values = ones_like(predictions, dtype) if weights is None else cast(weights, dtype)
        predictions.shape.assert_is_compatible_with(values.shape)
        cells = gen_ops.unsorted_segment_sum(values, labels * number + predictions, number * number)
        made = reshape(cells, gen_ops.pack([number, number], axis=0), name=scope)
        made.set_shape([num_classes, num_classes] if isinstance(num_classes, int) else [None, None])
        return made


def _classes(numbers, num_classes, what):
    numbers = cast(numbers, dtypes.int64)
    told = [f"confusion_matrix: `{what}` contains negative values", numbers]
    checks = [Assert(reduce_all(gen_ops.greater_equal(numbers, 0)), told)]
    if num_classes is not None:
        is_below = gen_ops.less(numbers, cast(convert(num_classes), dtypes.int64))
        told = [f"confusion_matrix: `{what}` out of bound", numbers, "classes:", num_classes]
        checks.append(Assert(reduce_all(is_below), told))
    return with_dependencies(checks, numbers)

"""x[...]: from what Python passes to __getitem__ to one StridedSlice."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arrays import boolean_mask
from millrace._values import dtypes


def strided_slice_of(tensor, key, variable=None):
    """The part of a Tensor that `tensor[key]` means.

    Args:
      tensor: a Tensor.
      key: ints, slices, Tensors, `...` and tf.newaxis (None), one or a tuple of them; or a mask alone, a Tensor
        or an array of bool, as for tf.boolean_mask.
      variable: the Variable that the tensor is the value of, if it is.

    Raises:
      TypeError: for anything else; ValueError: if there are too many indices.
    """
    if _is_mask(key):
        return boolean_mask(convert(tensor), key)
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    begin, end, strides = [], [], []
    masks = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    for index, item in enumerate(keys):
        bit = 1 << index
        first, last, step = 0, 0, 1
        if isinstance(item, slice):
            if item.start is None:
                masks["begin_mask"] |= bit
            else:
                first = _index(item.start)
            if item.stop is None:
                masks["end_mask"] |= bit
            else:
                last = _index(item.stop)
            step = 1 if item.step is None else _index(item.step)
        elif item is Ellipsis:
            if masks["ellipsis_mask"]:
                raise ValueError("Multiple ellipses are not allowed")
            masks["ellipsis_mask"] |= bit
        elif item is None:
            masks["new_axis_mask"] |= bit
        else:
            first = _index(item)
            last = first + 1
            masks["shrink_axis_mask"] |= bit
            # x[-1] ends where the dimension does, which 0 would not say.
            if isinstance(first, int) and first == -1:
                masks["end_mask"] |= bit
        begin.append(first)
        end.append(last)
        strides.append(step)
    with name_scope(None, "strided_slice", [tensor]) as scope:
        kind = _index_type(begin + end + strides)
        packed = [
            convert(bounds, kind, name)
            for bounds, name in ((begin, "stack"), (end, "stack_1"), (strides, "stack_2"))
        ]
        return gen_ops.strided_slice(convert(tensor), *packed, **masks, name=scope)


def _is_mask(key):
    if isinstance(key, np.ndarray):
        return key.dtype == np.bool_
    return hasattr(key, "_as_tensor") and key.dtype.base_dtype == dtypes.bool


def _index(item):
    if hasattr(item, "_as_tensor"):
        tensor = convert(item)
        if tensor.dtype.base_dtype in (dtypes.int32, dtypes.int64, dtypes.int16):
            return tensor
    elif hasattr(item, "__index__") and not isinstance(item, bool):
        return item.__index__()
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {item!r}"
    )


def _index_type(bounds):
    for bound in bounds:
        if not isinstance(bound, int):
            return bound.dtype.base_dtype
    fits = all(dtypes.int32.min <= bound <= dtypes.int32.max for bound in bounds)
    return dtypes.int32 if fits else dtypes.int64

"""A step of a session that is ready to run, and what may be fed to it."""

import functools

import numpy as np

from millrace import _millrace
from millrace._run.session_handles import TensorHandle
from millrace._values import dtypes, tensor_values


def feed_specs(tensors):
    """What the C++ side must know of the Tensors that are fed: name, type, shape."""
    return [
        (tensor.name, tensor.dtype.base_dtype.as_datatype_enum, tensor.shape.plain)
        for tensor in tensors
    ]


def convert_feed(value, dtype_number):
    """What the C++ side calls for a value that needs converting: a NumPy array of that type."""
    dtype = dtypes.as_dtype(dtype_number)
    if isinstance(value, TensorHandle):
        # What get_session_tensor reads by: the handle. Elsewhere: the value.
        wants_handle = dtype == dtypes.string and value.dtype != dtypes.string
        value = value.handle if wants_handle else value.eval()
    if hasattr(value, "_as_tensor"):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python "
            "scalars, strings, lists, numpy ndarrays, or TensorHandles."
        )
    if dtype == dtypes.string:
        return tensor_values.to_array(value, dtype)[0]
    kind = dtype.as_numpy_dtype
    try:
        outside = False
        if dtype.is_integer and isinstance(value, int):
            outside = not dtype.min <= value <= dtype.max
        elif dtype.is_integer and isinstance(value, (list, tuple)):
            outside = tensor_values.would_wrap(np.asarray(value), dtype)
        if outside:
            raise TypeError(
                f"Type of feed value {value} with type {type(value).__name__} is not compatible with "
                f"Tensor type {dtype.name}. Try explicitly setting the type of the feed tensor to a "
                "larger type (e.g. int64)."
            )
        return np.require(np.asarray(value, dtype=kind), requirements=("C", "A"))
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"Cannot feed {value!r} for a Tensor of type {dtype.name}: {error}"
        ) from None


class ReadyStep:
    """A combination of fetches and feeds that is ready to run."""

    __slots__ = ("prepared", "fetches", "feeds", "fed", "run")

    def __init__(self, prepared, fetches, fed, feeds):
        self.prepared = prepared
        self.fetches = fetches
        self.feeds = feeds  # the Tensors that are fed
        self.fed = (
            fed  # fetched Tensors that are fed: position among the fetches -> among the feeds
        )
        # Not bound methods: a step that refers to itself would keep its Tensors until garbage is collected.
        if prepared is None:
            self.run = functools.partial(_run_nothing, fetches, fed, feeds)
        elif fetches.is_single and not fed:
            self.run = prepared.run_single
        elif fetches.is_flat and not fed:
            self.run = prepared.run
        else:
            self.run = functools.partial(_run_structured, prepared, fetches, fed)


def _run_structured(prepared, fetches, fed, values):
    return fetches.result(_with_fed(prepared.run(values), fetches, fed, values))


def _run_nothing(fetches, fed, feeds, values):
    made = [_fed_value(value, tensor) for value, tensor in zip(values, feeds)]
    return fetches.result([made[fed[i]] for i in range(len(fed))])


def _with_fed(fetched, fetches, fed, values):
    if not fed:
        return fetched
    remaining = iter(fetched)
    return [
        _fed_value(values[fed[position]], tensor) if position in fed else next(remaining)
        for position, tensor in enumerate(fetches.tensors)
    ]


def _fed_value(value, tensor):
    made = _millrace.make_tensor(value, tensor.dtype.base_dtype.as_datatype_enum)
    if made is None:
        number = tensor.dtype.base_dtype.as_datatype_enum
        made = _millrace.make_tensor(convert_feed(value, number), number)
    if not tensor.shape.is_compatible_with(made.shape):
        raise ValueError(
            f"Cannot feed value of shape {made.shape} for Tensor '{tensor.name}', "
            f"which has shape '{tensor.shape}'"
        )
    return made.numpy()

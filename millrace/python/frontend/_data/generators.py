"""Generators of Python as what datasets call: the walks along one dataset that are under way."""

import itertools
import threading

import numpy as np

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._graph.sparse_tensor import SparseTensorValue
from millrace._ops.script_calls import py_func
from millrace._ragged.values import RaggedTensorValue
from millrace._values import dtypes

__all__ = ["GeneratorWalks"]


class GeneratorWalks:
    """The iterators that a generator function has given, by number."""

    def __init__(self, generator, spec):
        self._generator = generator
        self._spec = spec
        self._numbers = itertools.count()
        self._walks = {}
        self._lock = threading.Lock()

    # Each gives nodes that call the method below it.

    def begin(self, arguments):
        number = py_func(self._begin, arguments, dtypes.int64)
        number.set_shape([])
        return number

    def _begin(self, *arguments):
        walk = iter(self._generator(*arguments))
        with self._lock:
            number = next(self._numbers)
            self._walks[number] = walk
        return np.int64(number)

    def next(self, number):
        specs = elements.flatten(self._spec.element_spec)
        parts = [spec.component_specs() for spec in specs]
        made = iter(py_func(self._next, [number], [part.dtype for each in parts for part in each]))
        leaves = []
        for spec, each in zip(specs, parts):
            tensors = [next(made) for _ in each]
            for tensor, part in zip(tensors, each):
                tensor.set_shape(part.shape)
            leaves.append(spec.from_components(tensors))
        return elements.pack(self._spec.structure, leaves)

    def _next(self, number):
        with self._lock:
            walk = self._walks[int(number)]
        value = next(walk)
        spec = self._spec
        try:
            leaves = _leaves_of(spec.structure, value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {spec.output_types}, but the yielded element was {value}."
            ) from error
        whole = zip(leaves, elements.flatten(spec.element_spec), strict=True)
        return [array for leaf, kind in whole for array in _arrays_of(leaf, kind)]

    def end(self, number):
        done = py_func(self._end, [number], dtypes.int64)
        done.set_shape([])
        return gen_ops.identity(done)

    def _end(self, number):
        with self._lock:
            walk = self._walks.pop(int(number), None)
        if hasattr(walk, "close"):
            walk.close()
        return np.int64(0)


def _leaves_of(structure, value):
    """The parts of a value for the leaves of a structure: lists stand for tuples."""
    if not elements.is_nested(structure):
        return [value]
    if isinstance(structure, dict):
        if set(structure) != set(value):
            raise ValueError("other keys")
        keys = elements.flatten({key: key for key in structure})
        return [leaf for key in keys for leaf in _leaves_of(structure[key], value[key])]
    if len(structure) != len(value):
        raise ValueError("another length")
    return [leaf for part, one in zip(structure, value) for leaf in _leaves_of(part, one)]


def _arrays_of(value, spec):
    """The arrays of the Tensors that a value of a TypeSpec is made of."""
    if isinstance(value, RaggedTensorValue):
        given = [*value.nested_row_splits, value.flat_values]
    else:
        given = value if isinstance(value, SparseTensorValue) else [value]
    parts = spec.component_specs()
    if len(given) != len(parts) or (len(given) > 1 and not spec.is_compatible_with(value)):
        raise TypeError(
            "`generator` yielded an element that did not match the expected structure. The expected "
            f"component was {spec}, but the yielded one was {value}."
        )
    return [_as_array(each, part.dtype, part.shape) for each, part in zip(given, parts)]


def _as_array(value, dtype, shape):
    try:
        array = np.asarray(value, dtype=dtype.as_numpy_dtype)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The "
            f"expected type was {dtype.name}, but the yielded element was {value}."
        ) from None
    if not shape.is_compatible_with(array.shape):
        raise ValueError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape "
            f"{shape} was expected."
        )
    return array

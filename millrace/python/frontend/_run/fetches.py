"""What session.run fetches: from a nested structure to flat lists of names, and back to the structure.

A fetch is a Tensor, a SparseTensor, an Operation, a Variable, the name of one of them, or a list, tuple,
namedtuple or dictionary of fetches. A SparseTensor gives a SparseTensorValue, IndexedSlices an
IndexedSlicesValue, a RaggedTensor a RaggedTensorValue, a dequeue with a lease a Lease.
"""

from millrace._graph.composite import Composite
from millrace._graph.operation import Operation, Tensor
from millrace._graph.sparse_tensor import SparseTensor, SparseTensorValue, components
from millrace._ops.gradients import IndexedSlices, IndexedSlicesValue
from millrace._run.session_handles import is_handle
from millrace._state.leased import LeasedDequeue
from millrace._values import structure


class _Lent:
    """A LeasedDequeue, and its parts with their leaves replaced."""

    def __init__(self, taken, parts):
        self.taken, self.parts = taken, parts


class _Composed:
    """A Composite, and its components with their leaves replaced."""

    def __init__(self, composite, parts):
        self.composite, self.parts = composite, parts


class Fetches:
    """The fetches of one call.

    Attributes:
      tensors: the distinct Tensors whose values are wanted, in the order of the answer.
      operations: the distinct Operations that are to run.
      is_single: True if the fetch is one Tensor and nothing else, whose value is wanted as it is.
      is_flat: True if it is a list of Tensors, none of them twice, whose values are wanted as they are.

    Args:
      graph: where they are.
      fetches: what the program asks for.
      kept: the KeptTensors of the session, for fetches that are handles.
    """

    def __init__(self, graph, fetches, kept):
        self.tensors = []
        self.operations = []
        self._positions = {}
        self._graph = graph
        self._shape = self._parse(fetches)
        self._kept = kept
        self._handles = [i for i, tensor in enumerate(self.tensors) if is_handle(tensor)]
        self.is_single = isinstance(self._shape, int) and not self._handles
        in_order = list(range(len(self.tensors)))
        self.is_flat = type(fetches) is list and self._shape == in_order and not self._handles

    def _parse(self, fetch):
        """The fetch with its leaves replaced: by a position in the answer, or by None."""
        if isinstance(fetch, SparseTensor):
            return SparseTensorValue(*(self._parse(part) for part in components(fetch)))
        if isinstance(fetch, IndexedSlices):
            parts = (fetch.values, fetch.indices, fetch.dense_shape)
            return IndexedSlicesValue(
                *(None if part is None else self._parse(part) for part in parts)
            )
        if isinstance(fetch, Composite):
            return _Composed(fetch, [self._parse(part) for part in fetch.component_tensors()])
        if isinstance(fetch, LeasedDequeue):
            return _Lent(fetch, self._parse(fetch.parts))
        if isinstance(fetch, dict):
            return type(fetch)((key, self._parse(value)) for key, value in fetch.items())
        if isinstance(fetch, (list, tuple)):
            return structure.rebuilt(fetch, [self._parse(item) for item in fetch])
        element = self._element(fetch)
        if isinstance(element, Operation):
            if element not in self.operations:
                self.operations.append(element)
            return None
        position = self._positions.get(element)
        if position is None:
            position = self._positions[element] = len(self.tensors)
            self.tensors.append(element)
        return position

    def _element(self, fetch):
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}, must be a string "
                f"or Tensor. ({error})"
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        operation = element.op if isinstance(element, Tensor) else element
        if operation.is_in_loop:
            raise ValueError(
                f"Operation '{operation.name}' has been marked as not fetchable: it runs inside a "
                "loop. Return its value from the loop's body."
            )
        return element

    def result(self, values):
        """The fetches with values (those of `tensors`) in place of Tensors, None for Operations."""
        if self._handles:
            values = list(values)
            for i in self._handles:
                values[i] = self._kept.handle(values[i], self.tensors[i])
        return self._filled(self._shape, values)

    def _filled(self, shape, values):
        if isinstance(shape, int):
            return values[shape]
        if shape is None:
            return None
        if isinstance(shape, _Lent):
            return self._kept.lease(shape.taken, self._filled(shape.parts, values))
        if isinstance(shape, _Composed):
            return shape.composite.fetched(self._filled(shape.parts, values))
        if isinstance(shape, dict):
            return type(shape)((key, self._filled(item, values)) for key, item in shape.items())
        return structure.rebuilt(shape, [self._filled(item, values) for item in shape])


def parted(feed_dict):
    """(key, value) for all that is fed, the parts of SparseTensors, RaggedTensors and structures one by one.

    Raises:
      TypeError: if what is fed for a SparseTensor does not have three parts, or for a RaggedTensor other
        levels than it has.
      ValueError: if a structure of Tensors is fed something with another number of parts.
    """
    for key, value in feed_dict.items():
        if structure.is_sequence(key):
            yield from _parts(key, value)
            continue
        if isinstance(key, Composite):
            yield from zip(key.component_tensors(), key.fed(value))
            continue
        if not isinstance(key, SparseTensor):
            yield key, value
            continue
        if not isinstance(value, (list, tuple)) or len(value) != 3:
            raise TypeError(
                f"What is fed for {key} must be a tf.SparseTensorValue or a tuple (indices, values, "
                f"dense_shape), not {value!r}"
            )
        yield from zip(components(key), value)


def _parts(keys, values):
    """Of a structure of Tensors, such as the state of a cell, as it was fetched."""
    keys, values = structure.flatten(keys), structure.flatten(values)
    if len(keys) != len(values):
        raise ValueError(
            f"{len(keys)} Tensors are fed {len(values)} values: the structures differ ({keys})"
        )
    return zip(keys, values)


def cache_key(fetches):
    """Something hashable that is equal for equal fetches; TypeError if there is no such thing."""
    kind = type(fetches)
    if kind is Tensor or kind is Operation or kind is str:
        return fetches
    if kind is list:
        return (list, *map(cache_key, fetches))
    if isinstance(fetches, tuple):
        return (kind, *map(cache_key, fetches))
    if isinstance(fetches, dict):
        return (kind, *fetches, *map(cache_key, fetches.values()))
    return fetches

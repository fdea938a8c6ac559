"""Iterators: walks along datasets, which steps take elements from."""

import warnings

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.elements import Spec
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, name_scope
from millrace._values import dtypes

__all__ = ["Iterator"]

# As in TensorFlow: who makes so many nodes makes them in a loop, by mistake.
_MOST_GET_NEXT = 32


class Iterator:
    """A walk along a dataset.

    Made by Dataset.make_one_shot_iterator and make_initializable_iterator, or by from_structure and
    from_string_handle.
    """

    def __init__(self, iterator_resource, initializer, spec, dataset=None):
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._spec = spec
        self._dataset = dataset  # keeps what its functions call in this process
        self._string_handle = None
        self._get_next_calls = 0

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        """An iterator without a dataset, for datasets of one structure; see make_initializer.

        Args:
          output_types: a structure of types.
          output_shapes: a structure of shapes like it; None for unknown ones.
          shared_name: sessions on the same task share it under this name.
          output_classes: a structure of classes like it, or of TypeSpecs where types and shapes don't say
            all; None for Tensors.

        Raises:
          TypeError: if the structures differ.
        """
        spec = Spec.written(output_types, output_shapes, output_classes)
        handle = gen_ops.iterator_v2(
            container="", shared_name=shared_name or "", name=None, **spec.attrs()
        )
        return Iterator(handle, None, spec)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        """The iterator that a string names, which string_handle of another one gives.

        Args:
          string_handle: a scalar Tensor of type string, which may be fed.
          output_types, output_shapes, output_classes: as from_structure.
        """
        spec = Spec.written(output_types, output_shapes, output_classes)
        string_handle = convert(string_handle, dtypes.string)
        handle = gen_ops.iterator_from_string_handle_v2(string_handle, **spec.attrs())
        return Iterator(handle, None, spec)

    @property
    def initializer(self):
        """The Operation that begins the walk. ValueError if there is none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset, name=None):
        """An Operation that begins a walk along a dataset.

        Raises:
          TypeError: if the dataset has elements of other types; ValueError: of other shapes.
        """
        ours, theirs = self._spec, dataset.spec
        elements.assert_same(ours.structure, theirs.structure, "structures of iterator and dataset")
        if ours.output_types != theirs.output_types or ours.types != theirs.types:
            raise TypeError(
                f"Expected output types {ours.output_types!r} but got dataset with output types "
                f"{theirs.output_types!r}."
            )
        if not ours.is_compatible_with(theirs):
            raise TypeError(
                f"Expected output shapes compatible with {ours.output_shapes!r} but got dataset "
                f"with output shapes {theirs.output_shapes!r}."
            )
        with name_scope(name, "make_initializer"), colocate_with(self._iterator_resource):
            return gen_ops.make_iterator(dataset.variant, self._iterator_resource, name=name)

    def get_next(self, name=None):
        """The next element: a structure of Tensors, sparse and ragged ones. Steps behind the last fail with OutOfRangeError.

        Call it once and run what it gives again and again.
        """
        self._get_next_calls += 1
        if self._get_next_calls > _MOST_GET_NEXT:
            warnings.warn(
                "An unusually high number of `Iterator.get_next()` calls was detected: each adds "
                "nodes to the graph. Call it once outside of the loop.",
                stacklevel=2,
            )
        with colocate_with(self._iterator_resource):
            made = gen_ops.iterator_get_next(
                self._iterator_resource, name=name, **self._spec.attrs()
            )
        return self._spec.pack(made)

    def string_handle(self, name=None):
        """A scalar Tensor of type string that names the iterator, for from_string_handle."""
        if name is None and self._string_handle is not None:
            return self._string_handle
        with colocate_with(self._iterator_resource):
            made = gen_ops.iterator_to_string_handle(self._iterator_resource, name=name)
        if name is None:
            self._string_handle = made
        return made

    @property
    def spec(self):
        """The Spec of its elements."""
        return self._spec

    @property
    def handle(self):
        """The Tensor that stands for it."""
        return self._iterator_resource

    @property
    def output_types(self):
        return self._spec.output_types

    @property
    def output_shapes(self):
        return self._spec.output_shapes

    @property
    def output_classes(self):
        return self._spec.output_classes

    @property
    def element_spec(self):
        """The structure of the TypeSpecs of its elements' components."""
        return self._spec.element_spec

"""Checkpoints: their tensors listed, printed and compared."""

import math

import numpy as np

from millrace._inspect.tables import columns, counted, size
from millrace._saving.checkpoint_reader import CheckpointReader
from millrace._saving.object_messages import OBJECT_GRAPH, TrackableObjectGraph


class Checkpoint:
    """A checkpoint that is inspected.

    Args:
      path: what its files begin with.

    Raises:
      tf.errors.OpError: if it is not there, or damaged.
    """

    kind = "checkpoint"

    def __init__(self, path):
        self.path = path
        self._reader = CheckpointReader(path)
        self._shapes = self._reader.get_variable_to_shape_map()
        self._types = self._reader.get_variable_to_dtype_map()

    def _bytes(self, name):
        """The bytes of its elements; None for strings."""
        dtype = self._types[name]
        return None if dtype.name == "string" else math.prod(self._shapes[name]) * dtype.size

    def listed(self):
        """A line per tensor, and one on all of them."""
        rows = [
            (
                name,
                self._types[name].name,
                self._shapes[name],
                "" if self._bytes(name) is None else size(self._bytes(name)),
            )
            for name in sorted(self._shapes)
        ]
        yield from columns(rows)
        total = sum(self._bytes(name) or 0 for name in self._shapes)
        yield f"{counted(len(rows), 'tensor')}, {size(total)} without strings"
        if OBJECT_GRAPH in self._shapes:
            graph = TrackableObjectGraph.FromString(self._reader.get_tensor(OBJECT_GRAPH))
            yield f"saved by objects (tf.train.Checkpoint): {counted(len(graph.nodes), 'object')}"

    def printed(self, names):
        """The values of tensors. KeyError for a name that is not there."""
        for name in names:
            if name not in self._shapes:
                raise KeyError(f"'{self.path}' has no tensor '{name}'")
            yield f"{name}  {self._types[name].name}  {self._shapes[name]}"
            value = self._reader.get_tensor(name)
            yield from np.array2string(np.asarray(value), threshold=1000).splitlines()

    def compared(self, other, tolerance):
        """A line per difference from another one; none if there is none."""
        for name in sorted({*self._shapes, *other._shapes}):
            if name not in other._shapes:
                yield f"{name}: only in {self.path}"
            elif name not in self._shapes:
                yield f"{name}: only in {other.path}"
            elif (mine := self._form(name)) != (its := other._form(name)):
                yield f"{name}: {mine}, and {its} in {other.path}"
            elif name != OBJECT_GRAPH:
                yield from self._difference(other, name, tolerance)

    def _form(self, name):
        return f"{self._types[name].name} {self._shapes[name]}"

    def _difference(self, other, name, tolerance):
        mine, its = (np.asarray(each._reader.get_tensor(name)) for each in (self, other))
        if mine.dtype.kind not in "iufcb" and self._types[name].name != "bfloat16":
            count = int(np.sum(mine != its))
            if count:
                yield f"{name}: {count} of {mine.size} differ"
            return
        # Two that are not a number are no difference.
        wide = np.complex128 if mine.dtype.kind == "c" else np.float64
        exact = mine.dtype.kind in "iub" and not tolerance
        with np.errstate(invalid="ignore"):
            if exact:
                differs = mine != its
            else:
                away = np.abs(mine.astype(wide) - its.astype(wide))
                same = (mine == its) | (np.isnan(mine.astype(wide)) & np.isnan(its.astype(wide)))
                differs = ~same & ~(away <= tolerance)
        count = int(np.sum(differs))
        if count:
            most = np.max(np.abs(mine.astype(wide) - its.astype(wide))[differs])
            yield f"{name}: {count} of {mine.size} differ, by {most:.6g} at most"

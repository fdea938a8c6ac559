"""SliceChanges: what variables have to change some of their slices."""


class SliceChanges:
    """The methods of a class that has change_slices(kind, indices, updates, use_locking, name)."""

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        """A node that adds the slices of an IndexedSlices; the variable afterwards."""
        return self._scatter("add", sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        """A node that subtracts the slices of an IndexedSlices; the variable afterwards."""
        return self._scatter("sub", sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        """A node that sets the slices of an IndexedSlices; the variable afterwards."""
        return self._scatter("update", sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        """A node that keeps the larger elements, the variable's or the slices'."""
        return self._scatter("max", sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        """A node that keeps the smaller elements, the variable's or the slices'."""
        return self._scatter("min", sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        """A node that multiplies by the slices of an IndexedSlices."""
        return self._scatter("mul", sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        """A node that divides by the slices of an IndexedSlices."""
        return self._scatter("div", sparse_delta, use_locking, name)

    def scatter_nd_add(self, indices, updates, name=None):
        """A node that adds to the slices whose places the rows of `indices` are."""
        return self.change_slices("nd_add", indices, updates, True, name)

    def scatter_nd_sub(self, indices, updates, name=None):
        """A node that subtracts from the slices whose places the rows of `indices` are."""
        return self.change_slices("nd_sub", indices, updates, True, name)

    def scatter_nd_update(self, indices, updates, name=None):
        """A node that sets the slices whose places the rows of `indices` are."""
        return self.change_slices("nd_update", indices, updates, True, name)

    def _scatter(self, kind, delta, use_locking, name):
        if not hasattr(delta, "indices") or not hasattr(delta, "values"):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta!r}")
        return self.change_slices(kind, delta.indices, delta.values, use_locking, name)

"""Staging areas: tuples of Tensors that wait on a device from one step to another."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import no_op
from millrace._graph.conversion import convert
from millrace._graph.default_graph import colocate_with, name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops.arrays import identity
from millrace._values.dtypes import as_dtype
from millrace._values.tensor_shape import TensorShape


class BaseStagingArea:
    """What areas in order and areas by key have in common.

    Attributes:
      name: of the area; areas of one name on one device are one.
      dtypes, shapes, names: of the components; names is None unless tuples are dictionaries.
      capacity: how many tuples it holds; 0 for any number.
      memory_limit: how many bytes; 0 for any number.
    """

    def __init__(
        self, dtypes, shapes=None, names=None, shared_name=None, capacity=0, memory_limit=0
    ):
        if shared_name is None:
            shared_name = get_default_graph().unique_name(type(self).__name__)
        elif not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(f"StagingArea {what} must be the same length as dtypes")
        self._name = shared_name
        self._dtypes = [as_dtype(dtype) for dtype in dtypes]
        self._shapes = [TensorShape(shape) for shape in shapes or [None] * len(dtypes)]
        self._names = names
        self._capacity = capacity
        self._memory_limit = memory_limit
        # Where the area is: all that use it run there.
        with name_scope(None, f"{self._name}_root"):
            self._root = no_op()

    @property
    def name(self):
        return self._name

    @property
    def dtypes(self):
        return self._dtypes

    @property
    def shapes(self):
        return self._shapes

    @property
    def names(self):
        return self._names

    @property
    def capacity(self):
        return self._capacity

    @property
    def memory_limit(self):
        return self._memory_limit

    def _area(self, dtypes=None):
        """What all ops on the area say of it."""
        return {
            "dtypes": self._dtypes if dtypes is None else dtypes,
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
        }

    def _components(self, values, indices):
        """(Tensors, indices) of values: a dictionary, or a list for the indices."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: {sorted(values)}, names: {sorted(self._names)}"
                )
            indices = [index for index, name in enumerate(self._names) if name in values]
            values = [values[self._names[index]] for index in indices]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        elif indices is None:
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        if len(indices) != len(values):
            raise ValueError(
                f"Number of indices {len(indices)} doesn't match number of values {len(values)}"
            )
        if len(values) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(values)} vs {len(self._dtypes)}")
        return [self._component(*each) for each in zip(values, indices)], indices

    def _component(self, value, index):
        dtype = self._dtypes[index]
        tensor = convert(value, hint=dtype, name=f"component_{index}")
        if tensor.dtype.base_dtype != dtype:
            raise ValueError(
                f"Datatypes do not match. Received val.dtype {tensor.dtype} and dtype {dtype}"
            )
        tensor.shape.assert_is_compatible_with(self._shapes[index])
        return tensor

    def _moved(self, tensors):
        """Tensors on the device where the program is now, if that is another than the area's."""
        if no_op().device == self._root.device:
            return tensors
        return [identity(tensor) for tensor in tensors]

    def _tuple(self, tensors, indices):
        """What taking the components of some indices gives."""
        tensors = self._moved(tensors if isinstance(tensors, list) else [tensors])
        for tensor, index in zip(tensors, indices):
            tensor.set_shape(self._shapes[index])
        if self._names:
            return {self._names[index]: tensor for tensor, index in zip(tensors, indices)}
        return tensors


def _tensors_of(values):
    """What a name scope is told of the values of a tuple."""
    if isinstance(values, dict):
        return list(values.values())
    return list(values) if isinstance(values, (list, tuple)) else [values]


class StagingArea(BaseStagingArea):
    """Tuples that leave in the order in which they came.

    Args:
      dtypes: a list of types, one per component.
      shapes: a list of their shapes, as far as they are known.
      names: a list of names, if tuples are to be dictionaries.
      shared_name: the name of the area; None for one of its own.
      capacity: how many tuples it holds; who puts into a full one waits. 0 for any number.
      memory_limit: how many bytes; 0 for any number.
    """

    def put(self, values, name=None):
        """An Operation that puts in a tuple; it waits while the area is full.

        Args:
          values: a Tensor, a list with one per component, or a dictionary by names.
          name: a name for the node.
        """
        with name_scope(name, f"{self._name}_put", _tensors_of(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._components(values, list(range(len(values))))
            with colocate_with(self._root):
                return gen_ops.stage(
                    tensors,
                    shared_name=self._name,
                    capacity=self._capacity,
                    memory_limit=self._memory_limit,
                    name=scope,
                )

    def get(self, name=None):
        """Takes the oldest tuple, and waits for one: a list of Tensors, or a dictionary by names."""
        with colocate_with(self._root):
            taken = gen_ops.unstage(**self._area(), name=name or f"{self._name}_get")
        return self._tuple(taken, range(len(self._dtypes)))

    def peek(self, index, name=None):
        """The tuple that will be the index-th to leave, which stays; waits until there is one."""
        with colocate_with(self._root):
            seen = gen_ops.stage_peek(index, **self._area(), name=name or f"{self._name}_peek")
        return self._tuple(seen, range(len(self._dtypes)))

    def size(self, name=None):
        """An int32 Tensor: how many tuples are inside."""
        with colocate_with(self._root):
            return gen_ops.stage_size(**self._area(), name=name or f"{self._name}_size")

    def clear(self, name=None):
        """An Operation that drops all tuples."""
        with colocate_with(self._root):
            return gen_ops.stage_clear(**self._area(), name=name or f"{self._name}_clear")


class MapStagingArea(BaseStagingArea):
    """Tuples under integer keys; the components of one may come and leave one by one.

    Args:
      ordered: True to let the tuple of the least key leave first where no key is asked for.
      dtypes, shapes, names, shared_name, capacity, memory_limit: as for StagingArea.
    """

    def __init__(
        self,
        dtypes,
        shapes=None,
        names=None,
        shared_name=None,
        ordered=False,
        capacity=0,
        memory_limit=0,
    ):
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "ordered_map_" if ordered else "map_"

    def _run(self, what, *inputs, name, dtypes=None):
        with colocate_with(self._root):
            op = getattr(gen_ops, self._prefix + what)
            return op(*inputs, **self._area(dtypes), name=name)

    def put(self, key, vals, indices=None, name=None):
        """An Operation that puts in components of the tuple of a key; it waits while there is no room.

        Args:
          key: an int64 scalar.
          vals: a list of Tensors, or a dictionary by names.
          indices: which components a list has, in growing order.
          name: a name for the node.
        """
        with name_scope(name, f"{self._name}_put", _tensors_of(vals)) as scope:
            tensors, indices = self._components(vals, indices)
            return self._run("stage", key, indices, tensors, name=scope)

    def _asked(self, indices):
        """(indices, types) of the components that a list of indices or names asks for; None for all."""
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(index, str) for index in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided {indices}, but this Staging Area was not created "
                    "with names."
                )
            if not set(indices) <= set(self._names):
                raise ValueError(f"Named index not in Staging Area names {self._names}")
            indices = [self._names.index(name) for name in indices]
        elif not all(isinstance(index, int) for index in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        return indices, [self._dtypes[index] for index in indices]

    def peek(self, key, indices=None, name=None):
        """Components of the tuple of a key, which stay; waits until the tuple is whole."""
        indices, types = self._asked(indices)
        seen = self._run("peek", key, indices, name=name or f"{self._name}_pop", dtypes=types)
        return self._tuple(seen, indices)

    def get(self, key=None, indices=None, name=None):
        """Takes components of a tuple, and waits until it is whole.

        Args:
          key: of the tuple; None for any, or for the least of an ordered area.
          indices: of the components, or their names; None for all.
          name: a name for the node.

        Returns:
          (key, components): a list, or a dictionary by names.
        """
        indices, types = self._asked(indices)
        if key is not None:
            name = name or f"{self._name}_get"
            taken = self._run("unstage", key, indices, name=name, dtypes=types)
            return key, self._tuple(taken, indices)
        name = name or f"{self._name}_get_nokey"
        key, taken = self._run("unstage_no_key", indices, name=name, dtypes=types)
        return self._moved([key])[0], self._tuple(taken, indices)

    def size(self, name=None):
        """An int32 Tensor: how many tuples are whole."""
        return self._run("size", name=name or f"{self._name}_size")

    def incomplete_size(self, name=None):
        """An int32 Tensor: how many tuples lack a component."""
        return self._run("incomplete_size", name=name or f"{self._name}_incomplete_size")

    def clear(self, name=None):
        """An Operation that drops all tuples."""
        return self._run("clear", name=name or f"{self._name}_clear")

"""Variables in parts, so that each may be on a task of its own: PartitionedVariable, and what divides."""

import math

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape


class PartitionInfo:
    """What the initializer of a part is told: the shape of the whole, and where the part begins."""

    def __init__(self, full_shape, var_offset):
        self.full_shape = full_shape
        self.var_offset = var_offset


class PartitionedVariable:
    """A variable whose parts, along one axis, are variables; `tf.get_variable(partitioner=)` makes it.

    It converts to the Tensor of the whole. Iterating gives the parts in order.

    Args:
      name: the name of the whole.
      shape: its shape; dtype: its type.
      variable_list: the parts, each with the SaveSliceInfo that says which it is.
      partitions: how many parts each axis has; at most one has more than 1.
    """

    def __init__(self, name, shape, dtype, variable_list, partitions):
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(part >= 1 for part in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for variable in variable_list:
            if not (variable.save_slice_info and variable.save_slice_info.full_name == name):
                raise ValueError(f"All variables must be slices of '{name}': {variable}")
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._parts = sorted(variable_list, key=lambda part: part.save_slice_info.var_offset)
        self._partitions = list(partitions)

    @property
    def name(self):
        return self._name

    @property
    def dtype(self):
        return self._dtype

    @property
    def shape(self):
        return self._shape

    def get_shape(self):
        return self._shape

    @property
    def parts(self):
        """The variables that it consists of, in order."""
        return list(self._parts)

    @property
    def partitions(self):
        """How many parts each axis has."""
        return self._partitions

    @property
    def graph(self):
        return self._parts[0].graph

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        """The parts."""
        return iter(self._parts)

    def _axis(self):
        axes = [axis for axis, parts in enumerate(self._partitions) if parts > 1]
        return axes[0] if axes else 0

    def _concatenated(self):
        with name_scope(self._name + "/ConcatPartitions/"):
            return gen_ops.concat_v2(self._parts, self._axis())

    def as_tensor(self):
        """A Tensor of the whole, beside no part; control dependencies don't hold it back."""
        with control_dependencies(None):
            whole = self._concatenated() if len(self._parts) > 1 else self._parts[0].value()
            with name_scope(None):
                return gen_ops.identity(whole, name=self._name)

    def _as_tensor(self, dtype=None, name=None, as_ref=False):
        if as_ref:
            raise NotImplementedError(
                f"PartitionedVariable doesn't support being used as a reference: {self._name}"
            )
        return convert(self.as_tensor(), dtype)

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Nodes that set the parts from a value of the whole, a list with one for each."""
        return self._each("assign", value, use_locking, read_value)

    def assign_add(self, value, use_locking=False, name=None, read_value=True):
        """Nodes that add to the parts what of `value` is theirs."""
        return self._each("assign_add", value, use_locking, read_value)

    def assign_sub(self, value, use_locking=False, name=None, read_value=True):
        """Nodes that subtract from the parts what of `value` is theirs."""
        return self._each("assign_sub", value, use_locking, read_value)

    def _each(self, change, value, use_locking, read_value):
        value = convert(value, self._dtype.base_dtype)
        made = []
        for part in self._parts:
            info = part.save_slice_info
            piece = gen_ops.slice(value, info.var_offset, info.var_shape)
            made.append(
                getattr(part, change)(piece, use_locking=use_locking, read_value=read_value)
            )
        return made

    def __repr__(self):
        return f"<tf.PartitionedVariable '{self._name}' shape={self._shape} parts={len(self)}>"


def partitions_of(partitioner, shape, dtype):
    """How many parts each axis has, by what `partitioner` answers.

    Raises:
      ValueError: if it answers no list of one number per axis, or divides more than one axis.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            "Shape of a new partitioned variable must be fully defined, but instead was "
            f"{shape}."
        )
    answer = partitioner(shape=shape, dtype=dtype)
    if not isinstance(answer, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {answer}")
    if len(answer) != shape.ndims:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{answer} vs. {shape}"
        )
    if any(parts < 1 for parts in answer):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {answer}")
    if sum(parts > 1 for parts in answer) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {answer}"
        )
    return list(answer)


def slices_of(shape, partitions):
    """[(offset, shape)] of the parts: as many rows each, the first ones with one more."""
    dims = shape.as_list()
    axis = max(range(len(dims)), key=partitions.__getitem__)
    count, size = partitions[axis], dims[axis]
    if count > size:
        raise ValueError(f"Cannot divide the {size} slices of axis {axis} of {shape} into {count}")
    made, begin = [], 0
    for number in range(count):
        length = size // count + (number < size % count)
        offset = [0] * len(dims)
        offset[axis] = begin
        made.append((offset, [*dims[:axis], length, *dims[axis + 1 :]]))
        begin += length
    return made


def fixed_size_partitioner(num_shards, axis=0):
    """A partitioner: `num_shards` parts along `axis`, or one per slice if there are fewer."""

    def partitioner(shape, **unused):
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, shape.as_list()[axis])
        return partitions

    return partitioner


def _check_known(shape):
    if not isinstance(shape, TensorShape):
        raise ValueError(f"shape is not a TensorShape: {shape}")
    if not shape.is_fully_defined():
        raise ValueError(f"shape is not fully defined: {shape}")


def _element_size(dtype, bytes_per_string_element):
    dtype = dtypes.as_dtype(dtype)
    return bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size


def variable_axis_size_partitioner(
    max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None
):
    """A partitioner: as few parts along `axis` as keep each below a size.

    Args:
      max_shard_bytes: that size; a slice that is larger is a part by itself.
      axis: the axis.
      bytes_per_string_element: what a string counts.
      max_shards: no more parts than these, however large they get; None for any number.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive: "
            f"{max_shard_bytes} and {bytes_per_string_element}."
        )
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape, dtype):
        _check_known(shape)
        partitions = [1] * shape.ndims
        size = shape.as_list()[axis]
        slice_bytes = shape.num_elements() / size * _element_size(dtype, bytes_per_string_element)
        count = math.ceil(size / max(1, math.floor(max_shard_bytes / slice_bytes)))
        partitions[axis] = min(max_shards, count) if max_shards else count
        return partitions

    return partitioner


def min_max_variable_partitioner(
    max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16
):
    """A partitioner: as many parts along `axis` as leave each a size.

    Args:
      max_partitions: no more parts than these.
      axis: the axis.
      min_slice_size: the size in bytes.
      bytes_per_string_element: what a string counts.
    """

    def partitioner(shape, dtype):
        _check_known(shape)
        if axis >= shape.ndims:
            raise ValueError(f"Cannot partition variable along axis {axis} when shape is {shape}")
        whole = shape.num_elements() * _element_size(dtype, bytes_per_string_element)
        partitions = [1] * shape.ndims
        partitions[axis] = max(
            1, min(shape.as_list()[axis], max_partitions, math.ceil(whole / min_slice_size))
        )
        return partitions

    return partitioner

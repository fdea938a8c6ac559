"""What a checkpoint holds under which name, and how it comes back: a Saver's argument taken apart."""

from millrace import _gen as gen_ops
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._graph.operation import Tensor
from millrace._state.partitioned_variables import PartitionedVariable
from millrace._state.replicated_variables import ReplicatedVariable
from millrace._state.variables import ResourceVariable, Variable

_REFERENCES = ("Variable", "VariableV2", "AutoReloadVariable")
_RESOURCE_READ = "ReadVariableOp"


class SaveSpec:
    """One tensor of a checkpoint.

    Attributes:
      tensor: what is saved; made when it is asked for, if a function was given.
      slice_spec: "" for a whole tensor, else which part of one it is.
      name: its name in the checkpoint.
      dtype, device: of the tensor.
      shape: of the tensor; None if that is asked of the tensor itself.
    """

    def __init__(self, tensor, slice_spec, name, dtype=None, device=None, shape=None):
        if callable(tensor) and (dtype is None or device is None):
            raise ValueError(f"a function for the tensor '{name}' needs dtype= and device=")
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.shape = shape
        self.dtype = (tensor.dtype if dtype is None else dtype).base_dtype
        self.device = tensor.device if device is None else device

    @property
    def tensor(self):
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Something that a Saver saves: several tensors, and what restores them.

    Args:
      op: what stands for it; no two in a Saver may be the same.
      specs: its SaveSpecs.
      name: its name.
    """

    def __init__(self, op, specs, name):
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self):
        return self.specs[0].device

    def restore(self, restored_tensors, restored_shapes):
        """The Operation that brings the values back.

        Args:
          restored_tensors: a Tensor per spec.
          restored_shapes: the shapes to give them; None to take them as they are.
        """
        raise NotImplementedError(f"{type(self).__name__} has no restore()")


class _ReferenceSaveable(SaveableObject):
    """A reference variable, or a slice of one."""

    def __init__(self, reference, slice_spec, name):
        super().__init__(reference, [SaveSpec(reference, slice_spec, name)], name)

    def restore(self, restored_tensors, restored_shapes):
        (value,) = restored_tensors
        if restored_shapes is not None:
            value = gen_ops.reshape(value, restored_shapes[0])
        is_checked = restored_shapes is None and self.op.shape.is_fully_defined()
        return gen_ops.assign(self.op, value, validate_shape=is_checked, name="Assign")


class _ResourceSaveable(SaveableObject):
    """A resource variable, or a slice of one, by the Tensor that reads it."""

    def __init__(self, value, shape, slice_spec, name):
        self._handle = value.op.inputs[0]
        self._shape = shape
        spec = SaveSpec(value, slice_spec, name, device=self._handle.device, shape=shape)
        super().__init__(self._handle, [spec], name)

    def restore(self, restored_tensors, restored_shapes):
        (value,) = restored_tensors
        if restored_shapes is not None:
            value = gen_ops.reshape(value, restored_shapes[0])
        with self._handle.graph.device(self._handle.device or None):
            value = gen_ops.identity(_of_shape(value, self._shape), name="Identity")
            return gen_ops.assign_variable_op(self._handle, value, name="AssignVariableOp")


class _ReplicatedSaveable(SaveableObject):
    """A variable, or a slice of one, that has a copy per replica: saved once, and brought back to all copies."""

    def __init__(self, variable, slice_spec, name):
        self._variable = variable
        first = variable.copies[0]
        value = variable._as_graph_element()
        spec = SaveSpec(value, slice_spec, name, device=first.device, shape=variable.shape)
        super().__init__(first.handle, [spec], name)

    def restore(self, restored_tensors, restored_shapes):
        (value,) = restored_tensors
        if restored_shapes is not None:
            value = gen_ops.reshape(value, restored_shapes[0])
        return self._variable.assign(_of_shape(value, self._variable.shape), read_value=False)


def _of_shape(value, shape):
    """A restored value, if it has a variable's shape: handles take values of any."""
    return gen_ops.ensure_shape(value, shape) if shape.is_fully_defined() else value


def all_saveable_objects(scope=None):
    """The variables of the graph, or of a name scope, and what else is to be saved of it."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + get_collection(
        GraphKeys.SAVEABLE_OBJECTS, scope
    )


def saveables(var_list):
    """The SaveableObjects, in the order of their names, of what a Saver was given.

    Args:
      var_list: a list of Variables and SaveableObjects, or a dictionary of them by the names in the
        checkpoint; a value may also be a list of slices of one variable.

    Raises:
      TypeError: for what cannot be saved; ValueError: if a name or a variable comes twice.
    """
    named = var_list if isinstance(var_list, dict) else _by_name(var_list)
    found, seen = [], set()
    for name in sorted(named):
        for saveable in _saveables_of(named[name], name):
            if saveable.op is not None and saveable.op in seen:
                raise ValueError(
                    f"The same saveable will be restored with two names: {saveable.name}"
                )
            seen.add(saveable.op)
            found.append(saveable)
    return found


def _by_name(var_list):
    if not isinstance(var_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {var_list}")
    named = {}
    for item in sorted(_flat(var_list), key=lambda item: item.name):
        if isinstance(item, Variable) and item.save_slice_info is not None:
            slices = named.setdefault(item.save_slice_info.full_name, [])
            if not isinstance(slices, list):
                raise ValueError(
                    "Mixing slices and non-slices with the same name: "
                    f"{item.save_slice_info.full_name}"
                )
            slices.append(item)
            continue
        name = _name_of(item)
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = item
    return named


def _flat(items):
    for item in items:
        if isinstance(item, (list, tuple, PartitionedVariable)):
            yield from _flat(item)
        else:
            yield item


def _name_of(item):
    """The name of a list's item in the checkpoint."""
    if isinstance(item, Variable):
        return item.op.name
    if isinstance(item, Tensor):
        if item.op.type == _RESOURCE_READ:
            return item.op.inputs[0].op.name
        if item.op.type in _REFERENCES:
            return item.op.name
        raise TypeError(f"Variable to save is not a Variable: {item}")
    return item.name  # a SaveableObject, or the whole of slices


def _saveables_of(item, name):
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to checkpointable operations. "
            f"Name is not a string: {name}"
        )
    if isinstance(item, SaveableObject):
        return [item]
    if isinstance(item, ResourceVariable):
        return [_resource(item, "", name)]
    if isinstance(item, Variable):
        return [_ReferenceSaveable(item.op.outputs[0], "", name)]
    if isinstance(item, Tensor):
        return [_tensor(item, name)]
    if hasattr(item, "__iter__") and not isinstance(item, (str, bytes)):
        return list(_slices(item, name))
    raise TypeError(
        "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
        f"variable: {item}"
    )


def _tensor(tensor, name):
    """For the reference, or the reading, of a variable."""
    if tensor.op.type in _REFERENCES:
        return _ReferenceSaveable(tensor, "", name)
    if tensor.op.type == _RESOURCE_READ:
        return _ResourceSaveable(tensor, tensor.shape, "", name)
    raise TypeError(
        "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
        f"variable: {tensor}"
    )


def _resource(variable, slice_spec, name):
    if isinstance(variable, ReplicatedVariable):
        return _ReplicatedSaveable(variable, slice_spec, name)
    return _ResourceSaveable(variable._as_graph_element(), variable.shape, slice_spec, name)


def _slices(items, name):
    whole = None
    for item in items:
        if isinstance(item, SaveableObject):
            yield item
            continue
        if not isinstance(item, Variable):
            raise ValueError(f"Slices must all be Variables: {item}")
        info = item.save_slice_info
        if info is None:
            raise ValueError(f"Slices must all be slices: {item}")
        if whole is not None and whole != info.full_name:
            raise ValueError(
                f"Slices must all be from the same tensor: {whole} != {info.full_name}"
            )
        whole = info.full_name
        if isinstance(item, ResourceVariable):
            yield _resource(item, info.spec, name)
        else:
            yield _ReferenceSaveable(item.op.outputs[0], info.spec, name)

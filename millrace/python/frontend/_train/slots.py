"""Slots: variables beside a variable, in which an optimizer keeps what it knows of it."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._graph.default_graph import colocate_with
from millrace._ops.arrays import zeros
from millrace._state.initializers import Zeros
from millrace._state.named_variables import (
    get_variable,
    get_variable_scope,
    has_variable,
    variable_scope,
)
from millrace._state.variable_defs import SaveSliceInfo
from millrace._state.variables import ResourceVariable, Variable, is_variable_initialized


def create_slot(primary, value, name, colocate_with_primary=True):
    """A variable called "<primary>/<name>" (with _1, _2 ... if that is taken) that begins as `value`.

    Args:
      primary: a Variable or Tensor.
      value: a Tensor.
      name: the slot's own name.
      colocate_with_primary: True to keep both on one device.
    """
    return _made(
        primary,
        name,
        colocate_with_primary,
        initializer=value,
        validate_shape=value.shape.is_fully_defined(),
    )


def create_slot_with_initializer(
    primary, initializer, shape, dtype, name, colocate_with_primary=True
):
    """The same from a function of shape and type; the shape must be known."""
    return _made(
        primary, name, colocate_with_primary, initializer=initializer, shape=shape, dtype=dtype
    )


def create_zeros_slot(primary, name, dtype=None, colocate_with_primary=True):
    """The same of zeros, in the shape that `primary` has."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    if primary.shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, Zeros(), primary.shape, dtype, name, colocate_with_primary
        )
    return create_slot(primary, zeros(shape_of(primary), dtype), name, colocate_with_primary)


def shape_of(primary):
    """The shape of a Variable's or Tensor's value, as a Tensor that initializers can use."""
    if not isinstance(primary, Variable):
        return gen_ops.shape(primary)
    # It has a value only after it was initialized, which may happen in the same step.
    value = cond(
        is_variable_initialized(primary), primary.read_value, lambda: primary.initial_value
    )
    return gen_ops.shape(value)


def _made(primary, name, colocate_with_primary, **arguments):
    use_resource, durable = None, False
    if isinstance(primary, Variable):
        use_resource = isinstance(primary, ResourceVariable)
        durable = primary.durable  # without what the optimizer knows, no step can follow
    name = _unmade(f"{_name_of(primary)}/{name}")
    with variable_scope(None, name) as scope:
        scope.set_partitioner(None)  # it is as large as its primary, which may be a part already
        with colocate_with(primary if colocate_with_primary else None):
            slot = get_variable(
                "", trainable=False, use_resource=use_resource, durable=durable, **arguments
            )
    _set_slice(slot, primary)
    return slot


def _unmade(name):
    """`name`, or with the first of _1, _2 ... that no variable has, unless variables are reused: then an optimizer
    of a second model shares the first one's slots, as in TensorFlow."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    prefix = f"{scope.name}/" if scope.name else ""
    made, number = name, 0
    while has_variable(prefix + made):
        number += 1
        made = f"{name}_{number}"
    return made


def _name_of(primary):
    """The name of a Tensor's node, or of a variable, which in all replicas has the same one."""
    return primary.name.rpartition(":")[0] if isinstance(primary, Variable) else primary.op.name


def _set_slice(slot, primary):
    """Makes the slot of a part a part too, for checkpoints."""
    whole = getattr(primary, "save_slice_info", None)
    rank = slot.shape.ndims
    if whole is None or rank == 0:
        return
    # In another variable scope this is not its own name, but what TensorFlow's checkpoints have.
    name = _name_of(slot)[len(_name_of(primary)) + 1 :]
    slot.save_slice_info = SaveSliceInfo(
        f"{whole.full_name}/{name}",
        whole.full_shape[:rank],
        whole.var_offset[:rank],
        whole.var_shape[:rank],
    )

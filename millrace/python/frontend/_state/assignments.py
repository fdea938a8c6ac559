"""Changing variables: tf.assign and its kin, for reference and resource variables alike."""

from millrace import _gen as gen_ops
from millrace._state.variables import Variable


def _is_reference(ref):
    return ref.dtype.is_reference


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """A node that sets a variable.

    Args:
      ref: a Variable, or the Tensor that refers to one.
      value: the new value, of the variable's type.
      validate_shape: False to allow a value of another shape.
      use_locking: True (the default here) to keep other writers out meanwhile.
      name: a name for the node.

    Returns:
      the variable's reference (or its value, for resource variables) after the assignment.
    """
    if not _is_reference(ref):
        return ref.assign(value, name=name)
    return gen_ops.assign(
        ref,
        value,
        validate_shape=True if validate_shape is None else validate_shape,
        use_locking=True if use_locking is None else use_locking,
        name=name,
    )


def assign_add(ref, value, use_locking=None, name=None):
    """A node that adds `value` to a variable.

    Args:
      ref: a Variable, or the Tensor that refers to one.
      value: what to add, of the variable's type and shape.
      use_locking: True to keep other writers out meanwhile, so that concurrent additions all count.
      name: a name for the node.
    """
    if not _is_reference(ref):
        return ref.assign_add(value, name=name)
    return gen_ops.assign_add(ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    """A node that subtracts `value` from a variable; see `assign_add`."""
    if not _is_reference(ref):
        return ref.assign_sub(value, name=name)
    return gen_ops.assign_sub(ref, value, use_locking=bool(use_locking), name=name)


def _scatter(kind):
    def scatter(ref, indices, updates, use_locking=False, name=None):
        if not _is_reference(ref):
            handle = ref.handle if isinstance(ref, Variable) else ref
            made = getattr(gen_ops, f"resource_scatter_{kind}")(handle, indices, updates, name=name)
            with handle.graph.control_dependencies([made]):
                return ref.read_value()
        wrapper = getattr(gen_ops, f"scatter_{kind}")
        return wrapper(ref, indices, updates, use_locking=use_locking, name=name)

    scatter.__doc__ = f"""Applies {kind} to the slices of a variable at `indices`.

    Args:
      ref: a Variable, or the Tensor that refers to one.
      indices: int32 or int64.
      updates: of shape indices.shape + ref.shape[1:].
      use_locking: True to keep other writers out meanwhile.
      name: a name for the node.
    """
    return scatter


scatter_update = _scatter("update")
scatter_add = _scatter("add")
scatter_sub = _scatter("sub")
scatter_mul = _scatter("mul")
scatter_div = _scatter("div")
scatter_min = _scatter("min")
scatter_max = _scatter("max")


def _scatter_nd(kind, default_locking):
    def scatter(ref, indices, updates, use_locking=default_locking, name=None):
        if not _is_reference(ref):
            handle = ref.handle if isinstance(ref, Variable) else ref
            made = getattr(gen_ops, f"resource_scatter_nd_{kind}")(
                handle, indices, updates, name=name
            )
            with handle.graph.control_dependencies([made]):
                return ref.read_value()
        wrapper = getattr(gen_ops, f"scatter_nd_{kind}")
        return wrapper(ref, indices, updates, use_locking=use_locking, name=name)

    scatter.__doc__ = f"""Applies {kind} to the slices of a variable that rows of `indices` name.

    Args:
      ref: a Variable, or the Tensor that refers to one.
      indices: int32 or int64; each row along the last axis is the first coordinates of a slice.
      updates: of shape indices.shape[:-1] + ref.shape[indices.shape[-1]:].
      use_locking: True to keep other writers out meanwhile.
      name: a name for the node.
    """
    return scatter


scatter_nd_update = _scatter_nd("update", True)
scatter_nd_add = _scatter_nd("add", False)
scatter_nd_sub = _scatter_nd("sub", False)


def count_up_to(ref, limit, name=None):
    """A node that adds 1 and gives the value before; OutOfRangeError at `limit`."""
    if not _is_reference(ref):
        handle = ref.handle if isinstance(ref, Variable) else ref
        return gen_ops.resource_count_up_to(handle, limit=limit, T=ref.dtype, name=name)
    return gen_ops.count_up_to(ref, limit=limit, name=name)

"""Stories of variables, of both kinds: they are made, given a value, updated and read.

What scatters into them or writes slices is in scatter_stories.py.
"""

from cases import ANY, COMPLEX, NUMBERS, REAL, StoryRow, WIDE, stories_of

COUNTS = ["int32", "int64"]


def reference(m, shape, value=None, dtype=None):
    """A variable of the old kind; without a value it stays as it is made."""
    made = m.call("VariableV2", shape=list(shape), dtype=dtype or m.dtype)
    if value is not None:
        m.call("Assign", {"ref": made, "value": value})
    return made


def resource(m, shape, value=None, dtype=None):
    """One of the new kind. Without a shape, nothing is refused before it runs."""
    name = f"v{len(m.calls)}"
    declared = None if shape is None else list(shape)
    made = m.call("VarHandleOp", dtype=dtype or m.dtype, shape=declared, shared_name=name)
    if value is not None:
        m.call("AssignVariableOp", {"resource": made, "value": value})
    return made


def read(m, variable, is_resource):
    if is_resource:
        m.call("ReadVariableOp", {"resource": variable}, dtype=m.dtype)
    elif m.dtype in NUMBERS:
        # Which tells the type, too: as far as that one allows, values may differ.
        m.call("AddV2", {"x": variable, "y": m.values((), 0, 0)})
    else:
        m.call("Identity", {"input": variable})


def other_shape(m, shape):
    return m.choice([(*shape, 2), (3, *shape), shape[1:] or (2,)])


# --- resource variables ---


def resource_story(m, op):
    """A variable is made, read before it has a value, given one, updated and read."""
    shape = m.shape()
    handle = m.call("VarHandleOp", dtype=m.dtype, shape=list(shape), shared_name="v")
    read = {"resource": handle}
    if m.one_in(4):
        m.call("ReadVariableOp", read, dtype=m.dtype)
    m.call("AssignVariableOp", {"resource": handle, "value": m.values(shape)})
    # A shape that the handle's does not allow is refused by TensorFlow where the graph is built.
    is_odd = op != "AssignVariableOp" and m.one_in(8)
    m.call(op, {"resource": handle, "value": m.values((*shape, 2) if is_odd else shape)})
    m.call("ReadVariableOp", read, dtype=m.dtype)
    m.call("VarIsInitializedOp", read)


def assign_resource(m):
    """With its shape held to, or not; of its type, or another."""
    shape = m.shape()
    handle = resource(m, None, m.values(shape) if m.one_in(2) else None)
    given = other_shape(m, shape) if m.one_in(3) else shape
    dtype = "int32" if m.one_in(8) else m.dtype
    value = {"resource": handle, "value": m.values(given, dtype=dtype)}
    m.call("AssignVariableOp", value, validate_shape=bool(m.one_in(2)))
    read(m, handle, True)
    m.call("VariableShape", {"input": handle})


def read_resource(m):
    shape = m.shape()
    handle = resource(m, shape, None if m.one_in(6) else m.values(shape))
    dtype = "int32" if m.one_in(8) else m.dtype
    m.call("ReadVariableOp", {"resource": handle}, dtype=dtype)


def variable_handle(m):
    """Two handles of one name are of one variable."""
    shape = m.shape()
    names = {"shared_name": "v", "container": m.choice(["", "", "c"])}
    one = m.call("VarHandleOp", dtype=m.dtype, shape=list(shape), **names)
    if m.one_in(4):
        names["container"] = "d"
    dtype = "int32" if m.one_in(8) else m.dtype
    other = m.call("VarHandleOp", dtype=dtype, shape=list(shape), **names)
    m.call("AssignVariableOp", {"resource": one, "value": m.values(shape)})
    m.call("VarIsInitializedOp", {"resource": other})
    m.call("ReadVariableOp", {"resource": other}, dtype=dtype)


def variable_shape(m):
    shape = m.shape()
    handle = resource(m, shape, None if m.one_in(6) else m.values(shape))
    attrs = {"out_type": m.choice(COUNTS)} if m.one_in(2) else {}
    m.call("VariableShape", {"input": handle}, **attrs)


def destroy_resource(m):
    shape = m.shape()
    handle = resource(m, shape, None if m.one_in(4) else m.values(shape))
    for _ in range(m.choice([1, 2])):
        m.call("DestroyResourceOp", {"resource": handle}, ignore_lookup_error=bool(m.one_in(2)))
    m.call("VarIsInitializedOp", {"resource": handle})
    read(m, handle, True)
    m.call("AssignVariableOp", {"resource": handle, "value": m.values(shape)})
    read(m, handle, True)


def disable_copy(m):
    shape = m.shape()
    handle = resource(m, shape, None if m.one_in(4) else m.values(shape))
    m.call("DisableCopyOnRead", {"resource": handle})
    m.call("AssignVariableOp", {"resource": handle, "value": m.values(shape)})
    read(m, handle, True)


def count_resource(m):
    shape = (1,) if m.one_in(8) else ()
    handle = resource(m, shape, None if m.one_in(8) else m.values(shape))
    for _ in range(2):
        m.call(
            "ResourceCountUpTo", {"resource": handle}, limit=int(m.rng.integers(-2, 4)), T=m.dtype
        )
        read(m, handle, True)


def gathered(m, op, indices):
    """Rows of a variable, or slices."""
    shape = m.shape(ranks=(1, 2, 3), least=0 if m.one_in(8) else 1)
    handle = resource(m, shape, None if m.one_in(10) else m.values(shape))
    given, attrs = indices(m, shape)
    m.call(op, {"resource": handle, "indices": given}, dtype=m.dtype, **attrs)


def gather_rows(m, shape):
    # As many as the shape has: some dimensions of both are rows of a batch.
    batch = int(m.rng.integers(0, len(shape))) if m.one_in(3) else 0
    # Beyond its own rows TensorFlow looks into those of the next batch.
    most = shape[batch] + (1 if m.one_in(8) and batch == 0 else 0)
    own = m.shape(ranks=(0, 1, 2)) if batch == 0 else m.shape(ranks=(1,))
    lead = other_shape(m, shape[:batch]) if batch and m.one_in(8) else shape[:batch]
    attrs = {"batch_dims": batch} if batch else {}
    if m.one_in(4):
        attrs["validate_indices"] = False
    return m.indices((*lead, *own), most), attrs


def gather_slices(m, shape):
    depth = int(m.rng.integers(0, len(shape) + (2 if m.one_in(8) else 1)))
    most = min([*shape[:depth], 4]) + (1 if m.one_in(8) else 0)
    return m.indices((*m.shape(ranks=(0, 1, 2)), depth), most), {}


# --- variables of the old kind ---


def assign_reference(m):
    """A shape that is declared, or one that is known when it is assigned."""
    shape = m.shape()
    # One that is not known is a scalar's to TensorFlow, unless nobody checks.
    declared = None if m.one_in(4) else shape
    op = m.choice(["Variable", "VariableV2"])
    made = m.call(op, shape=declared if declared is None else list(declared), dtype=m.dtype)
    m.call("IsVariableInitialized", {"ref": made})
    for is_first in (True, False):
        given = other_shape(m, shape) if m.one_in(5) else shape
        checks = not m.one_in(4) and not (is_first and declared is None)
        m.call("Assign", {"ref": made, "value": m.values(given)}, validate_shape=checks)
        read(m, made, False)


def update_reference(m, op):
    shape = m.shape()
    made = reference(m, shape, None if m.one_in(6) else m.values(shape))
    value = m.values(other_shape(m, shape) if m.one_in(8) else shape)
    m.call(op, {"ref": made, "value": value}, use_locking=bool(m.one_in(2)))
    read(m, made, False)


def is_initialized(m):
    shape = m.shape()
    made = reference(m, shape, None if m.one_in(2) else m.values(shape))
    m.call("IsVariableInitialized", {"ref": made})
    read(m, made, False)


def shared_variable(m, op):
    """Nodes of one name share what it holds, if they agree on what it is."""
    shape = m.shape()
    names = {"shared_name": "v", "container": m.choice(["", "", "c"])}
    one = m.call(op, shape=list(shape), dtype=m.dtype, **names)
    m.call("Assign", {"ref": one, "value": m.values(shape)})
    if m.one_in(4):
        names["container"] = "d"
    dtype = "int32" if m.one_in(8) else m.dtype
    other = m.call(op, shape=list(shape), dtype=dtype, **names)
    m.call("IsVariableInitialized", {"ref": other})
    m.call("Identity", {"input": other})


def count_reference(m):
    shape = (1,) if m.one_in(8) else ()
    made = reference(m, shape, None if m.one_in(8) else m.values(shape))
    for _ in range(2):
        m.call("CountUpTo", {"ref": made}, limit=int(m.rng.integers(-2, 4)))
        m.call("Identity", {"input": made})


def temporary(m, op):
    """It lives in one step, so all that it is given comes from a variable."""
    shape = m.shape()
    kept = reference(m, shape, m.values(shape))
    own = other_shape(m, shape) if m.one_in(8) else shape
    value = m.call("Identity", {"input": kept})
    made = m.call("TemporaryVariable", shape=list(own), dtype=m.dtype, var_name="t", hides=True)
    given = m.call("Assign", {"ref": made, "value": value})
    if m.dtype in NUMBERS and m.one_in(2):
        given = m.call("AssignAdd", {"ref": given, "value": value})
    m.call("DestroyTemporaryVariable", {"ref": given}, var_name="u" if m.one_in(8) else "t")


TABLE = [
    *stories_of("AssignVariableOp AssignAddVariableOp AssignSubVariableOp", REAL, resource_story),
    *stories_of("AssignAddVariableOp AssignSubVariableOp", COMPLEX, resource_story),
    StoryRow("AssignVariableOp", ANY, assign_resource),
    StoryRow("ReadVariableOp", ANY, read_resource),
    StoryRow("VarHandleOp", ANY, variable_handle),
    StoryRow("VariableShape", ANY, variable_shape),
    StoryRow("DestroyResourceOp", ANY, destroy_resource),
    StoryRow("VarIsInitializedOp", ANY, destroy_resource),
    StoryRow("DisableCopyOnRead", WIDE, disable_copy),
    StoryRow("ResourceCountUpTo", COUNTS, count_resource),
    StoryRow("ResourceGather", ANY, lambda m: gathered(m, "ResourceGather", gather_rows)),
    StoryRow("ResourceGatherNd", ANY, lambda m: gathered(m, "ResourceGatherNd", gather_slices)),
    StoryRow("Assign", ANY, assign_reference),
    *stories_of("AssignAdd AssignSub", NUMBERS, update_reference),
    *stories_of("Variable VariableV2", ANY, shared_variable),
    StoryRow("IsVariableInitialized", ANY, is_initialized),
    StoryRow("CountUpTo", COUNTS, count_reference),
    *stories_of("TemporaryVariable DestroyTemporaryVariable", ANY, temporary),
]

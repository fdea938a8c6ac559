"""Stories of variables, of both kinds."""

from cases import REAL, stories_of


def resource_story(m, op):
    """A variable is made, read before it has a value, given one, updated and read."""
    shape = m.shape()
    handle = m.call("VarHandleOp", dtype=m.dtype, shape=list(shape), shared_name="v")
    read = {"resource": handle}
    if m.one_in(4):
        m.call("ReadVariableOp", read, dtype=m.dtype)
    m.call("AssignVariableOp", {"resource": handle, "value": m.values(shape)})
    value = m.values((*shape, 2)) if m.one_in(8) else m.values(shape)
    m.call(op, {"resource": handle, "value": value})
    m.call("ReadVariableOp", read, dtype=m.dtype)
    m.call("VarIsInitializedOp", read)


TABLE = [
    *stories_of("AssignVariableOp AssignAddVariableOp AssignSubVariableOp", REAL, resource_story),
]

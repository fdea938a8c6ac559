"""Stories of slices of variables that are given values, and of names for what is held."""

from array_cases import bounds, spec
from cases import NUMBERS, StoryRow, stories_of

HELD = [*NUMBERS, "bool"]


def slice_of(m, shape):
    given, masks, taken = spec(m, shape)
    inputs, kind = bounds(m, given)
    if m.one_in(12):
        inputs["strides"] = m.integers([0] * len(given[2]), kind)
    value = [1 if m.one_in(4) else dim for dim in taken]
    return {**inputs, "value": m.values((*value, 3) if m.one_in(12) else value)}, masks


def reference(m, shape):
    """A variable of the first kind, which has a value but in one story of twelve."""
    held = m.call("VariableV2", dtype=m.dtype, shape=list(shape), shared_name="v", hides=True)
    if not m.one_in(12):
        m.call("Assign", {"ref": held, "value": m.values(shape)})
    return held


def assigned_story(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    held = reference(m, shape)
    for _ in range(m.choice([1, 2])):
        inputs, masks = slice_of(m, shape)
        m.call("StridedSliceAssign", {"ref": held, **inputs}, **masks)
    m.call("RefIdentity", {"input": held})


def resource_assigned_story(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    handle = m.call("VarHandleOp", dtype=m.dtype, shape=list(shape), shared_name="v")
    if not m.one_in(12):
        m.call("AssignVariableOp", {"resource": handle, "value": m.values(shape)})
    for _ in range(m.choice([1, 2])):
        inputs, masks = slice_of(m, shape)
        m.call("ResourceStridedSliceAssign", {"ref": handle, **inputs}, **masks)
    m.call("ReadVariableOp", {"resource": handle}, dtype=m.dtype)


def named_story(m):
    held = reference(m, m.shape())
    again = m.call("RefIdentity", {"input": held})
    m.call("Identity", {"input": again})


def unfed_story(m, op):
    """A placeholder that nobody feeds."""
    m.call(op, dtype=m.dtype, shape=list(m.shape()))


TABLE = [
    StoryRow("StridedSliceAssign", HELD, assigned_story),
    StoryRow("ResourceStridedSliceAssign", HELD, resource_assigned_story),
    StoryRow("RefIdentity", [*HELD, "string"], named_story),
    *stories_of("Placeholder PlaceholderV2", HELD[:6], unfed_story),
]

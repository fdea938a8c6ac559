"""Stories of what is written to a part of a variable: rows, slices, and what strides and masks name."""

import numpy as np

from cases import ANY, NUMBERS, REAL, stories_of
from variable_stories import other_shape, read, reference, resource

ORDERED = ["float16", "bfloat16", "float32", "float64", "int32", "int64"]


def variable(m, is_resource, shape, low=-3):
    value = None if m.one_in(12) else m.values(shape, low)
    made = (resource if is_resource else reference)(m, shape, value)
    return ("resource" if is_resource else "ref"), made


def places(m, shape, limit, is_once):
    """Indices; none of them twice where the order would tell."""
    if not is_once:
        return m.indices(shape, limit)
    number = min(limit, m.choice([0, 1, 2, 3]))
    dtype = m.choice(["int32", "int64"])
    order = m.rng.permutation(max(limit, 1))[:number]
    return dtype, order.reshape(m.choice([(number,), (1, number)])).astype(dtype)


def scatter_story(m, op):
    """Rows of a variable that indices name, one after another."""
    is_resource = op.startswith("Resource")
    low = 1 if op.endswith(("Div", "Mul")) else -3
    shape = m.shape(
        ranks=(0, 1, 2, 3) if m.one_in(12) else (1, 2, 3), least=0 if m.one_in(6) else 1
    )
    name, made = variable(m, is_resource, shape, low)
    rows = shape[0] if shape else 1
    indices = places(m, m.shape(ranks=(0, 1, 2)), rows, op.endswith("Update"))
    if m.one_in(8) and indices[1].size:
        indices[1].flat[0] = m.choice([-1, rows])
    fits = (*indices[1].shape, *shape[1:])
    given = other_shape(m, fits) if m.one_in(10) else () if m.one_in(5) else fits
    attrs = {} if is_resource else {"use_locking": bool(m.one_in(2))}
    m.call(op, {name: made, "indices": indices, "updates": m.values(given, low)}, **attrs)
    read(m, made, is_resource)


def slice_places(m, shape, depth, is_once):
    """Indices of slices, of `depth` dimensions, in one or two of their own."""
    if not is_once:
        batch = m.shape(ranks=(0, 1, 2))
        return m.indices((*batch, depth), min([*shape[:depth], 4]))
    dtype = m.choice(["int32", "int64"])
    made = [m.rng.permutation(max(dim, 1))[: min([*shape, 2])] for dim in shape[:depth]]
    number = len(made[0]) if made else 1
    rows = [[int(each[i]) for each in made] for i in range(number)]
    return m.integers(rows, dtype)[0], m.integers(rows, dtype)[1].reshape(number, depth)


def scatter_nd_story(m, op):
    is_resource = op.startswith("Resource")
    shape = m.shape(ranks=(1, 2, 3), least=0 if m.one_in(8) else 1)
    _, made = variable(m, is_resource, shape)
    depth = int(m.rng.integers(0 if m.one_in(8) else 1, len(shape) + 1))
    indices = slice_places(m, shape, depth, op.endswith("Update"))
    fits = (*indices[1].shape[:-1], *shape[depth:])
    is_beyond = m.one_in(8) and indices[1].size > 0
    if is_beyond:
        indices[1].flat[0] = m.choice([-1, max(shape)])
    attrs = {"bad_indices_policy": m.choice(["IGNORE", "ERROR", "DEFAULT"])} if m.one_in(3) else {}
    updates = m.values(other_shape(m, fits) if m.one_in(10) else fits)
    m.call(op, {"ref": made, "indices": indices, "updates": updates}, **attrs)
    if not is_beyond or attrs.get("bad_indices_policy") == "IGNORE":
        read(m, made, is_resource)  # else TensorFlow may have written some of it


def bounds(m, dim):
    """(begin, end, stride) along one dimension."""
    stride = m.choice([1, 1, 1, 2, -1, -2])
    begin, end = sorted(int(m.rng.integers(-dim - 1, dim + 2)) for _ in range(2))
    return (begin, end, stride) if stride > 0 else (end, begin, stride)


def masks(m, rank):
    names = "begin_mask end_mask shrink_axis_mask new_axis_mask".split()
    made = {name: int(m.rng.integers(1 << rank)) for name in names if m.one_in(4)}
    if m.one_in(5) and rank:
        made["ellipsis_mask"] = 1 << int(m.rng.integers(rank))
    return made


def sliced(shape, begin, end, strides, masks):
    """What NumPy makes of the same slice: its shape, or None where that is hard to say."""
    if masks.get("new_axis_mask") or masks.get("ellipsis_mask"):
        return None
    parts = []
    for axis, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << axis
        if masks.get("shrink_axis_mask", 0) & bit:
            if step < 0 or not -shape[axis] <= first < shape[axis]:
                return None
            parts.append(first)
            continue
        parts.append(
            slice(
                None if masks.get("begin_mask", 0) & bit else first,
                None if masks.get("end_mask", 0) & bit else last,
                step,
            )
        )
    # NumPy's -1 is the last element; one further below begins at the first, as here.
    return np.empty(shape)[tuple(parts)].shape


def slice_story(m, op):
    is_resource = op.startswith("Resource")
    shape = m.shape(ranks=(1, 2, 3), least=0 if m.one_in(8) else 1)
    _, made = variable(m, is_resource, shape)
    rank = int(m.rng.integers(0, len(shape) + 1))
    each = [bounds(m, dim) for dim in shape[:rank]]
    given = [[part[i] for part in each] for i in range(3)]
    chosen = masks(m, rank)
    fits = sliced(shape, *given, chosen)
    fits = () if fits is None or m.one_in(6) else fits
    value = m.values(other_shape(m, fits) if m.one_in(10) else fits)
    dtype = m.choice(["int32", "int64"])
    ends = {name: m.integers(part, dtype) for name, part in zip(("begin", "end", "strides"), given)}
    m.call(op, {"ref": made, **ends, "value": value}, **chosen)
    read(m, made, is_resource)


TABLE = [
    *stories_of("ScatterAdd ScatterSub ScatterMul ScatterDiv", NUMBERS, scatter_story),
    *stories_of("ScatterMin ScatterMax", ORDERED, scatter_story),
    *stories_of("ScatterUpdate ResourceScatterUpdate", [*ANY, "int32"], scatter_story),
    *stories_of(
        "ResourceScatterAdd ResourceScatterSub ResourceScatterMul ResourceScatterDiv",
        NUMBERS,
        scatter_story,
    ),
    *stories_of("ResourceScatterMin ResourceScatterMax", REAL, scatter_story),
    *stories_of(
        "ScatterNdAdd ScatterNdSub ResourceScatterNdAdd ResourceScatterNdSub",
        NUMBERS,
        scatter_nd_story,
    ),
    *stories_of(
        "ScatterNdMin ScatterNdMax ResourceScatterNdMin ResourceScatterNdMax",
        REAL,
        scatter_nd_story,
    ),
    *stories_of("ScatterNdUpdate ResourceScatterNdUpdate", ANY, scatter_nd_story),
    *stories_of("StridedSliceAssign ResourceStridedSliceAssign", ANY, slice_story),
]

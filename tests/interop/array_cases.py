"""Rows of rows.py for arrays: slices put back, diagonals of ops before the last, places found and written."""

import numpy as np

from cases import NUMBERS, REAL, Row, rows_of

EVERY = [*NUMBERS, "bool", "string"]
PLAIN = [*NUMBERS, "bool"]
TYPES = ["float32", "int64", "complex64", "float16", "uint8", "int16"]


def flag(m):
    return bool(m.one_in(2))


# --- slices ---


def spec(m, shape):
    """Inputs and attributes of a strided slice of that shape, and the shape of what it takes."""
    begin, end, strides = [], [], []
    masks = dict.fromkeys(
        "begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask".split(), 0
    )
    picked, dims = [], list(shape)
    ellipsis = int(m.rng.integers(len(dims) + 1)) if m.one_in(3) else -1
    at = 0
    while dims or at == ellipsis:
        bit = 1 << at
        if at == ellipsis:
            skipped = int(m.rng.integers(len(dims) + 1))
            del dims[:skipped]
            masks["ellipsis_mask"] |= bit
            each, index = (0, 0, 1), Ellipsis
        elif m.one_in(8):
            masks["new_axis_mask"] |= bit
            each, index = (0, 1, 1), None
        elif m.one_in(4) and dims[0]:
            place = int(m.rng.integers(-dims[0], dims[0]))
            masks["shrink_axis_mask"] |= bit
            del dims[0]
            each, index = (place, place + 1, 1), place
        else:
            each, index = part(m, dims.pop(0), bit, masks)
        at += 1
        picked.append(index)
        for of, value in zip((begin, end, strides), each):
            of.append(value)
        if Ellipsis not in picked and at > ellipsis and m.one_in(6):
            break
    # What is behind an ellipsis belongs to the last dimensions: it must be as many as are left.
    taken = np.empty(shape)[tuple(picked)].shape
    return (begin, end, strides), masks, taken


def part(m, dim, bit, masks):
    first, last = (int(each) for each in m.rng.integers(-dim - 1, dim + 2, 2))
    step = int(m.choice([1, 1, 2, -1, -2]))
    index = [first, last]
    for number, name in enumerate(("begin_mask", "end_mask")):
        if m.one_in(4):
            masks[name] |= bit
            index[number] = None
    return (first, last, step), slice(*index, step)


def bounds(m, given):
    kind = m.choice(["int32", "int64"])
    return {
        name: m.integers(each, kind) for name, each in zip(("begin", "end", "strides"), given)
    }, kind


def sliced(m, whole):
    """A slice whose update is of the shape `whole` wants: of a slice, or of all that it is put into."""
    shape = m.shape(ranks=(1, 2, 3))
    given, masks, taken = spec(m, shape)
    inputs, kind = bounds(m, given)
    if m.one_in(12):
        inputs["strides"] = m.integers([0] * len(given[2]), kind)
    value = m.values((*taken, 2) if m.one_in(12) else taken)
    return whole(m, shape, kind, inputs, value), masks


def slice_grad(m):
    def whole(m, shape, kind, inputs, value):
        return {"shape": m.integers(shape, kind), **inputs, "dy": value}

    return sliced(m, whole)


def slice_update(m):
    def whole(m, shape, kind, inputs, value):
        return {"input": m.values(shape), **inputs, "value": value}

    return sliced(m, whole)


# --- diagonals ---


def old_diagonal(m):
    return {"diagonal": m.values(m.shape(ranks=(1, 2, 3), least=1))}, {}


def old_matrix(m):
    return {"input": m.values(m.shape(ranks=(2, 3), least=1))}, {}


def old_band(m):
    low, high = m.rng.integers(-2 if m.one_in(8) else -1, 4, 2)
    inputs = {"input": m.values((*m.shape(ranks=(0, 1)), 3, 4))}
    bounds = {"num_lower": m.integers(low, "int64"), "num_upper": m.integers(high, "int64")}
    return {**inputs, **bounds}, {}


def set_diagonal(m):
    shape = m.shape(ranks=(2, 3), least=1)
    length = min(shape[-2:]) + int(m.one_in(8))
    return {"input": m.values(shape), "diagonal": m.values((*shape[:-2], length))}, {}


def band(m):
    low = int(m.rng.integers(-2, 2))
    return low, low + int(m.rng.integers(0, 3))


def diagonals(m):
    low, high = band(m)
    longest = int(m.rng.integers(1, 4))
    shape = (*m.shape(ranks=(0, 1)), *([high - low + 1] if high > low else []), longest)
    return {
        "diagonal": m.values(shape),
        "k": m.integers(low) if low == high and flag(m) else m.integers([low, high]),
        "num_rows": m.integers(m.choice([-1, -1, 3, 5])),
        "num_cols": m.integers(m.choice([-1, -1, 3, 5])),
        "padding_value": m.values(()),
    }, {}


def diagonals_part(m):
    low, high = band(m)
    if m.one_in(12):
        high = m.choice([9, low - 1])
    inputs = {"input": m.values(m.shape(ranks=(2, 3), least=2)), "k": m.integers([low, high])}
    return {**inputs, "padding_value": m.values(())}, {}


def diagonals_set(m):
    rows, columns = (int(size) for size in m.rng.integers(2, 5, 2))
    low = int(m.rng.integers(-1, 2))
    high = low + int(m.rng.integers(0, 2)) if low < 1 else low
    longest = min(rows + min(high, 0), columns - max(low, 0))
    batch = m.shape(ranks=(0, 1), least=1)
    middle = [high - low + 1] if high > low else []
    return {
        "input": m.values((*batch, rows, columns)),
        "diagonal": m.values((*batch, *middle, longest + int(m.one_in(12)))),
        "k": m.integers([low, high]),
    }, {}


# --- shapes ---


def shapes_of_two(m):
    one, other = m.broadcasting()
    if m.one_in(6):
        one, other = (2, 3), (4,)
    kind = m.dtype
    return {"s0": m.integers(one, kind), "s1": m.integers(other, kind)}, {}


def concat(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    axis = int(m.rng.integers(-len(shape), len(shape) + int(m.one_in(8))))
    parts = []
    for _ in range(m.choice([2, 3])):
        mine = list(shape)
        mine[axis % len(shape)] = int(m.rng.integers(0, 4))
        if m.one_in(20):
            mine[(axis + 1) % len(shape)] += 1
        parts.append(m.values(mine))
    return {"concat_dim": m.integers(axis), "values": parts}, {}


def concat_offset(m):
    shape = m.rng.integers(0, 5, int(m.rng.integers(1, 4)))
    axis = int(m.rng.integers(-len(shape), len(shape) + int(m.one_in(8))))
    shapes = []
    for _ in range(m.choice([2, 3])):
        mine = shape.copy()
        mine[axis % len(shape)] = m.rng.integers(0, 4)
        if m.one_in(20):
            mine[(axis + 1) % len(shape)] += 1
        shapes.append(m.integers(mine, m.dtype))
    return {"concat_dim": m.integers(axis), "shape": shapes}, {}


def parallel_concat(m):
    row = m.shape(ranks=(0, 1, 2), least=1)
    number = int(m.rng.integers(1, 4))
    whole = [number, *row]
    return {"values": [m.values((1, *row)) for _ in range(number)]}, {"shape": whole}


def shapes(m):
    parts = [m.values() for _ in range(m.choice([1, 2, 3]))]
    return {"input": parts}, {"out_type": m.choice(["int32", "int64"])}


def ensured(m):
    shape = list(m.shape())
    asked = [None if m.one_in(3) else dim for dim in shape]
    if m.one_in(4):
        asked = m.choice([[*asked, 1], [9] * len(shape)])
    return {"input": m.values(shape)}, {"shape": asked}


def with_default(m):
    shape = list(m.shape())
    asked = [None if m.one_in(3) else dim for dim in shape]
    return {"input": m.values(shape)}, {"shape": [*asked, 1] if m.one_in(8) else asked}


def block(name, pads):
    def make(m):
        size = int(m.choice([2, 2, 3]))
        batch, (height, width) = int(m.rng.integers(1, 3)), m.rng.integers(1, 4, 2)
        edges = m.rng.integers(-1 if m.one_in(12) else 0, 2, (2, 2))
        if pads:
            fits = [int(-(edges[i].sum() + side) % size) for i, side in enumerate((height, width))]
            height, width = height + fits[0], width + fits[1] + int(m.one_in(12))
        else:
            batch = batch * size * size + int(m.one_in(12))
        shape = (batch, int(height), int(width), int(m.rng.integers(1, 3)))
        kind = m.choice(["int32", "int64"])
        return {"input": m.values(shape), name: m.integers(edges, kind)}, {"block_size": size}

    return make


def mirror_grad(m):
    mode = m.choice(["REFLECT", "SYMMETRIC"])
    inner = m.rng.integers(2, 5, int(m.rng.integers(1, 4)))
    paddings = m.rng.integers(0, 2, (len(inner), 2)) + (4 if m.one_in(8) else 0)
    kind = m.choice(["int32", "int64"])
    grown = m.values([int(each) for each in inner + paddings.sum(1)])
    return {"input": grown, "paddings": m.integers(paddings, kind)}, {"mode": mode}


# --- places ---


def permutation(m):
    order = m.rng.permutation(int(m.rng.integers(0, 7)))
    if m.one_in(6) and len(order):
        order[0] = m.choice([order[-1], -1, 9])
    return {"x": m.integers(order, m.dtype)}, {}


def searched(m):
    rows = int(m.rng.integers(0, 4))
    dtype, ordered = m.values((rows, int(m.rng.integers(0, 6))), -4, 4)
    values = m.values((rows + int(m.one_in(12)), int(m.rng.integers(0, 5))), -5, 5)
    kind = m.choice(["int32", "int64"])
    inputs = {"sorted_inputs": (dtype, np.sort(ordered, axis=1)), "values": values}
    return inputs, {"out_type": kind}


def gather(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    indices = m.indices(m.shape(ranks=(0, 1, 2)), shape[0] + int(m.one_in(8)))
    return {"params": m.values(shape), "indices": indices}, {"validate_indices": flag(m)}


def scatter_add(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    depth = int(m.rng.integers(1, len(shape) + 1))
    limit = min(shape[:depth]) + int(m.one_in(8))
    number = int(m.rng.integers(0, 4))
    return {
        "input": m.values(shape),
        "indices": m.indices((number, depth), limit),
        "updates": m.values((number, *shape[depth:])),
    }, {}


def in_place(m):
    shape = m.shape(ranks=(1, 2), least=2)
    places = m.rng.permutation(shape[0])[:2]
    if m.one_in(12):
        places = places[:1]
    return {"x": m.values(shape), "i": m.integers(places), "v": m.values((2, *shape[1:]))}, {}


# --- the same again ---


def same(name):
    return lambda m: ({name: m.values()}, {})


def prevented(m):
    return {"input": m.values()}, {"message": "no gradient"}


def several(m):
    return {"input": [m.values() for _ in range(m.choice([1, 2, 3]))]}, {}


def zeros(m):
    return {"shape": m.integers(m.shape())}, {"dtype": m.dtype, "init": True}


def fixed(m):
    return {}, {"value": ("tensor", *m.values()), "dtype": m.dtype}


TABLE = [
    Row("StridedSliceGrad", EVERY, slice_grad, gradient=True),
    Row("TensorStridedSliceUpdate", EVERY, slice_update, gradient=True),
    Row("BatchMatrixDiag", PLAIN, old_diagonal),
    Row("BatchMatrixDiagPart", PLAIN, old_matrix),
    Row("BatchMatrixBandPart", NUMBERS, old_band),
    *rows_of("BatchMatrixSetDiag MatrixSetDiag", PLAIN, set_diagonal, gradient=True),
    Row("MatrixDiagV2", PLAIN, diagonals, gradient=True),
    Row("MatrixDiagPartV2", PLAIN, diagonals_part, gradient=True),
    Row("MatrixSetDiagV2", PLAIN, diagonals_set, gradient=True),
    *rows_of("BroadcastArgs BroadcastGradientArgs", ["int32", "int64"], shapes_of_two),
    Row("Concat", EVERY, concat, gradient=True),
    Row("ConcatOffset", ["int32", "int64"], concat_offset),
    Row("ParallelConcat", EVERY, parallel_concat),
    Row("ShapeN", EVERY, shapes),
    Row("EnsureShape", EVERY, ensured, gradient=True),
    Row("PlaceholderWithDefault", EVERY, with_default, gradient=True),
    Row("Const", [kind for kind in EVERY if kind != "bfloat16"], fixed),
    Row("SpaceToBatch", REAL, block("paddings", True), gradient=True),
    Row("BatchToSpace", REAL, block("crops", False), gradient=True),
    Row("MirrorPadGrad", NUMBERS, mirror_grad, gradient=True),
    Row("InvertPermutation", ["int32", "int64"], permutation),
    *rows_of("LowerBound UpperBound", REAL, searched),
    Row("Gather", EVERY, gather, gradient=True),
    Row("ScatterNdNonAliasingAdd", PLAIN, scatter_add, gradient=True),
    *rows_of("InplaceUpdate InplaceAdd InplaceSub", TYPES, in_place),
    *rows_of("Snapshot StopGradient GuaranteeConst", EVERY, same("input"), gradient=True),
    Row("DeepCopy", TYPES, same("x")),
    Row("PreventGradient", EVERY, prevented, gradient=True),
    Row("IdentityN", EVERY, several, gradient=True),
    Row("Empty", [*PLAIN, "string"], zeros),
]

REASONS = {
    ("MatrixDiagV2", "gradient 0:"): "its gradient takes diagonals as the next version aligns them",
    ("MatrixSetDiagV2", "gradient 1:"): (
        "its gradient takes diagonals of other lengths as the next version aligns them"
    ),
}

UNCOMPARED = {"TopK": "TensorFlow's kernel asks for an attribute that the op's signature lacks"}

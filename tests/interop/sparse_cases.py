"""Sparse tensors for rows.py: makers of inputs, and the rows of the ops that take them.

A maker takes a Maker of cases.py. TABLE has what a Row is made of.
"""

import numpy as np

FLOATS = ["float32", "float64", "float16", "bfloat16"]
WIDE = ["float32", "float64"]
ANY = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8"]
REAL = [*FLOATS, "int32", "int64", "int8", "int16", "uint8"]


def dims_of(m, ranks=(1, 2, 3)):
    return [int(m.rng.integers(1, 5)) for _ in range(m.choice(list(ranks)))]


def places(m, dims, is_ordered=True, repeats=False):
    """Some places of a tensor of this shape; in about one case of ten one is outside of it."""
    whole = int(np.prod(dims))
    number = int(m.rng.integers(0, whole + 1))
    flat = m.rng.choice(whole, number, replace=repeats)
    flat = np.sort(flat) if is_ordered else flat
    return np.stack(np.unravel_index(flat, dims), 1).reshape(number, len(dims)).astype("int64")


def outside(m, indices):
    indices = indices.copy()
    if len(indices):
        indices[m.rng.integers(len(indices)), m.rng.integers(indices.shape[1])] = 9
    return indices


def one(m, names, dims=None, low=-3, high=3, **kind):
    """{name: value} of a sparse tensor, by the names of its three inputs; and its dims."""
    dims = dims_of(m) if dims is None else dims
    indices = places(m, dims, **kind)
    return {
        names[0]: m.integers(indices, "int64"),
        names[1]: m.values((len(indices),), low, high),
        names[2]: m.integers(dims, "int64"),
    }, dims


PLAIN = ("indices", "values", "shape")
INPUT = ("input_indices", "input_values", "input_shape")
DENSE = ("sp_indices", "sp_values", "sp_shape")
OF_A = ("a_indices", "a_values", "a_shape")
OF_B = ("b_indices", "b_values", "b_shape")


def reorder(m):
    return one(m, INPUT, is_ordered=False)[0], {}


def reshape(m):
    dims = m.choice([[2, 6], [3, 4], [12], [2, 2, 3]])
    new = m.choice([[2, 6], [3, -1], [-1], [2, 2, 3], [5, -1], [-1, -1], [6, 1]])
    indices = places(m, dims)
    return {
        "input_indices": m.integers(indices, "int64"),
        "input_shape": m.integers(dims, "int64"),
        "new_shape": m.integers(new, "int64"),
    }, {}


def matmul(m):
    a, b, c = (int(size) for size in m.rng.integers(1, 5, 3))
    adjoint_a, adjoint_b = bool(m.one_in(2)), bool(m.one_in(2))
    dims = [b, a] if adjoint_a else [a, b]
    given, _ = one(m, OF_A, dims, is_ordered=False, repeats=True)
    if m.one_in(8):
        given["a_indices"] = m.integers(outside(m, given["a_indices"][1]), "int64")
    inner = b + 1 if m.one_in(8) else b
    given["b"] = m.values((c, inner) if adjoint_b else (inner, c))
    return given, {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}


def fill_rows(m):
    given, _ = one(m, ("indices", "values", "dense_shape"), dims_of(m, (2,)), is_ordered=False)
    if m.one_in(8):
        given["indices"] = m.integers(outside(m, given["indices"][1]), "int64")
        given["indices"][1][:, 1:] = 0
    return {**given, "default_value": m.values(())}, {}


def fill_rows_grad(m):
    limit = 7 if m.one_in(8) else 6
    reverse = m.rng.permutation(limit)[:4]
    return {"reverse_index_map": m.integers(reverse, "int64"), "grad_values": m.values((6,))}, {}


def concat(m):
    dims = dims_of(m, (2, 3))
    axis = int(m.rng.integers(-len(dims), len(dims)))
    parts = []
    for _ in range(m.choice([2, 3])):
        mine = list(dims)
        mine[axis] = int(m.rng.integers(1, 4))
        if m.one_in(12):
            mine[(axis + 1) % len(dims)] += 1
        parts.append(one(m, PLAIN, mine)[0])
    given = {
        "indices": [part["indices"] for part in parts],
        "values": [part["values"] for part in parts],
        "shapes": [part["shape"] for part in parts],
    }
    return given, {"concat_dim": axis + len(dims) * 2 if m.one_in(8) else axis}


def split(m):
    given, dims = one(m, PLAIN, is_ordered=bool(m.one_in(2)))
    if m.one_in(8):
        given["indices"] = m.integers(outside(m, given["indices"][1]), "int64")
    axis = int(m.rng.integers(-len(dims), len(dims)))
    number = int(m.rng.integers(1, dims[axis] + 1)) + int(m.one_in(8))
    return {"split_dim": m.integers(axis, "int64"), **given}, {"num_split": number}


def slice_(m):
    given, dims = one(m, PLAIN)
    start = [int(m.rng.integers(0, dim + 1)) for dim in dims]
    size = [int(m.rng.integers(-1 if m.one_in(12) else 0, 4)) for _ in dims]
    return {**given, "start": m.integers(start, "int64"), "size": m.integers(size, "int64")}, {}


def add(m):
    a, dims = one(m, OF_A)
    b, _ = one(m, OF_B, [dim + int(m.one_in(20)) for dim in dims])
    real = {"complex64": "float32", "complex128": "float64"}.get(m.dtype, m.dtype)
    return {**a, **b, "thresh": m.values((), 0, 2, dtype=real)}, {}


def extreme(m):
    a, dims = one(m, OF_A)
    b, _ = one(m, OF_B, [dim + int(m.one_in(20)) for dim in dims])
    return {**a, **b}, {}


def dense_add(m):
    given, dims = one(m, OF_A, is_ordered=False, repeats=True)
    kind = m.choice(["int32", "int64"])
    if m.one_in(8):
        given["a_indices"] = m.integers(outside(m, given["a_indices"][1]), "int64")
    for name in ("a_indices", "a_shape"):
        given[name] = m.integers(given[name][1], kind)
    return {**given, "b": m.values([dim + int(m.one_in(20)) for dim in dims])}, {}


def cellwise(low=-3):
    def make(m):
        given, dims = one(m, DENSE)
        if m.one_in(8):
            given["sp_indices"] = m.integers(outside(m, given["sp_indices"][1]), "int64")
        dense = [1 if m.one_in(3) else dim for dim in dims][m.rng.integers(len(dims) + 1) :]
        if m.one_in(12):
            dense = [2, *dims]
        return {**given, "dense": m.values(dense, low)}, {}

    return make


def reduction(m):
    given, dims = one(m, INPUT, is_ordered=False, repeats=True)
    rank = len(dims)
    axes = m.rng.integers(-rank, rank + int(m.one_in(12)), m.choice([0, 1, 2]))
    return {**given, "reduction_axes": m.integers(axes)}, {"keep_dims": bool(m.one_in(2))}


def softmax(m):
    return one(m, DENSE, dims_of(m, (1, 2, 3) if m.one_in(8) else (2, 3)))[0], {}


def edit_distance(m):
    dims = dims_of(m, (2, 3, 1) if m.one_in(8) else (2, 3))
    names = [[f"{of}_{part}" for part in PLAIN] for of in ("hypothesis", "truth")]
    hypothesis, _ = one(m, names[0], dims, 0, 2)
    truth, _ = one(m, names[1], [dim + int(m.one_in(3)) for dim in dims], 0, 2)
    return {**hypothesis, **truth}, {"normalize": bool(m.one_in(2))}


def set_operation(kinds):
    def make(m):
        lead = dims_of(m, (1, 2))
        given = {}
        for number, kind in enumerate(kinds, 1):
            dims = [*lead, int(m.rng.integers(1, 5))]
            if m.one_in(20):
                dims[0] += 1
            if kind == "dense":
                given[f"set{number}"] = m.values(dims, 0, 4)
            else:
                names = [f"set{number}_{part}" for part in PLAIN]
                given.update(one(m, names, dims, 0, 4, is_ordered=not m.one_in(12))[0])
        operation = m.choice(["a-b", "b-a", "intersection", "union", "UNION"])
        return given, {"set_operation": operation}

    return make


def set_size(m):
    return one(m, ("set_indices", "set_values", "set_shape"), dims_of(m, (2, 3)), 0, 2)[0], {}


def crossed(m, kinds=("int64", "string")):
    """Columns of features with a batch of their own: those that are sparse, those that are dense."""
    batch, given = int(m.rng.integers(1, 4)), {"indices": [], "values": [], "shapes": []}
    for _ in range(m.choice([0, 1, 2])):
        dims = [batch + int(m.one_in(20)), int(m.rng.integers(1, 4))]
        indices = places(m, dims, is_ordered=not m.one_in(12))
        given["indices"].append(m.integers(indices, "int64"))
        given["values"].append(m.values((len(indices),), dtype=m.choice(kinds)))
        given["shapes"].append(m.integers(dims, "int64"))
    least = 0 if given["values"] else 1
    given["dense_inputs"] = [
        m.values((batch, int(m.rng.integers(0 if m.one_in(8) else 1, 3))), dtype=m.choice(kinds))
        for _ in range(int(m.rng.integers(least, 3)))
    ]
    return given


def cross(m):
    inner = m.choice(["int64", "string"])
    kinds = ("string",) if inner == "string" and not m.one_in(8) else ("int64", "string")
    return crossed(m, kinds), {
        "hashed_output": bool(m.one_in(2)),
        "num_buckets": int(m.choice([0, 10, 1 << 40])),
        "hash_key": int(m.rng.integers(0, 1 << 62)),
        "out_type": m.choice(["int64", "string"]),
        "internal_type": inner,
    }


def cross_texts(m):
    return {**crossed(m), "sep": ("string", np.array(m.choice([b"", b"_"]), object))}, {}


def cross_hashed(m):
    # TensorFlow ends on integers that are to be hashed strongly.
    is_strong = bool(m.one_in(2))
    return {
        **crossed(m, ("string",) if is_strong else ("int64", "string")),
        "num_buckets": m.integers(m.choice([-3, 0, 10, 1 << 40]), "int64"),
        "strong_hash": ("bool", np.array(is_strong)),
        "salt": m.integers(m.rng.integers(-5, 1 << 62, 1 if m.one_in(12) else 2), "int64"),
    }, {}


def ctc_inputs(m):
    # Not one class alone, of which TensorFlow writes beyond its memory.
    steps, batch, classes = (int(size) for size in m.rng.integers([1, 1, 2], 6, 3))
    lengths = m.rng.integers(0, steps + 1 + int(m.one_in(12)), batch + int(m.one_in(20)))
    return {
        "inputs": m.values((steps, batch, classes)),
        "sequence_length": m.integers(lengths),
    }, (steps, batch, classes)


def ctc_loss(m):
    given, (steps, batch, classes) = ctc_inputs(m)
    rows = [m.rng.integers(0, max(classes - 1, 1), m.rng.integers(1, 4)) for _ in range(batch)]
    indices = [[row, at] for row, of in enumerate(rows) for at in range(len(of))]
    values = [label for of in rows for label in of]
    if m.one_in(10):
        values[0] = -1
    return {
        **given,
        "labels_indices": m.integers(indices, "int64"),
        "labels_values": m.integers(values),
    }, {
        "preprocess_collapse_repeated": bool(m.one_in(2)),
        "ctc_merge_repeated": bool(m.one_in(2)),
        "ignore_longer_outputs_than_inputs": not m.one_in(4),
    }


def ctc_greedy(m):
    given, (_, _, classes) = ctc_inputs(m)
    blank = int(m.rng.integers(-classes, classes + int(m.one_in(8))))
    return given, {"merge_repeated": bool(m.one_in(2)), "blank_index": blank}


def ctc_beam(m):
    given, _ = ctc_inputs(m)
    top = int(m.rng.integers(1, 4))
    width = top + int(m.rng.integers(-1 if m.one_in(8) else 0, 8))
    return given, {
        "merge_repeated": bool(m.one_in(2)),
        "beam_width": max(width, 1),
        "top_paths": top,
    }


def ragged(m, levels=None):
    """(splits of each level, values) of a ragged tensor."""
    rows, nested = int(m.rng.integers(1, 5)), []
    for _ in range(levels or m.choice([1, 2])):
        nested.append(np.concatenate([[0], np.cumsum(m.rng.integers(0, 4, rows))]))
        rows = int(nested[-1][-1])
    return nested, m.values((rows, *m.shape(ranks=(0, 1), least=1)))


def ragged_to_sparse(m):
    nested, values = ragged(m)
    kind = m.choice(["int32", "int64"])
    splits = [m.integers(level, kind) for level in nested]
    return {"rt_nested_splits": splits, "rt_dense_values": values}, {}


def ragged_gather(m):
    nested, values = ragged(m)
    shape = m.shape(ranks=(1, 2), least=1)
    rows = len(nested[0]) - 1
    return {
        "params_nested_splits": [m.integers(level, "int64") for level in nested],
        "params_dense_values": values,
        "indices": m.indices(shape, rows + int(m.one_in(12))),
    }, {"OUTPUT_RAGGED_RANK": len(nested) + len(shape) - 1}


def ragged_range(m):
    rows = int(m.rng.integers(1, 4))
    return {
        name: m.values(() if m.one_in(3) else (rows + int(m.one_in(15)),), *bounds)
        for name, bounds in (("starts", (-3, 3)), ("limits", (-3, 6)), ("deltas", (1, 3)))
    }, {}


def ragged_to_tensor(m):
    nested, (kind, values) = ragged(m)
    inner = list(values.shape[1:])
    # TensorFlow takes no values that are empty.
    nested[-1] = nested[-1] if len(values) else np.zeros_like(nested[-1])
    dims = [int(m.choice([-1, 1, 2, 5])) for _ in range(len(nested) + 1)] + [-1] * len(inner)
    splits = [m.integers(level, "int64") for level in nested]
    return {
        "shape": m.integers(dims, "int64"),
        "values": (kind, values),
        "default_value": m.values(inner if m.one_in(2) else ()),
        "row_partition_tensors": splits,
    }, {"row_partition_types": ["ROW_SPLITS"] * len(splits)}


def limits(m):
    """The attributes of ops that count into sparse tensors."""
    return {
        "minlength": int(m.choice([-1, 0, 3, 8])),
        "maxlength": int(m.choice([-1, -1, 0, 3])),
        "binary_output": bool(m.one_in(3)),
    }


def counted(m, shape):
    """(numbers, a few of them negative, and weights or none)."""
    numbers = m.rng.integers(-1 if m.one_in(12) else 0, 5, shape)
    weights = m.values(shape) if m.one_in(2) else (m.dtype, np.zeros((0,), m.dtype))
    return m.integers(numbers, m.choice(["int32", "int64"])), weights


def dense_count(m):
    numbers, weights = counted(m, m.shape(ranks=(1, 2), least=1))
    return {"values": numbers, "weights": weights}, limits(m)


def ragged_count(m):
    lengths = m.rng.integers(0, 4, int(m.rng.integers(1, 4)))
    splits = np.concatenate([[0], np.cumsum(lengths)])
    numbers, weights = counted(m, (int(splits[-1]) + int(m.one_in(12)),))
    inputs = {"splits": m.integers(splits, "int64"), "values": numbers, "weights": weights}
    return inputs, limits(m)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "string"]

# (op, types, maker, whether gradients are compared)
TABLE = [
    ("SparseReorder", ANY, reorder, True),
    ("SparseReshape", ["int64"], reshape, False),
    ("SparseTensorDenseMatMul", [*FLOATS, "int32", "complex64", "complex128"], matmul, True),
    ("SparseFillEmptyRows", ANY, fill_rows, True),
    ("SparseFillEmptyRowsGrad", [*FLOATS, "int32", "complex64"], fill_rows_grad, False),
    ("SparseConcat", ANY, concat, False),
    ("SparseSplit", ANY, split, False),
    ("SparseSlice", ["float32", "float64", "int64", "string", "complex64"], slice_, True),
    ("SparseAdd", [*WIDE, "int32", "int64", "int8", "int16", "complex64", "complex128"], add, True),
    ("SparseSparseMaximum", REAL, extreme, False),
    ("SparseSparseMinimum", REAL, extreme, False),
    ("SparseTensorDenseAdd", [*WIDE, "int32", "int64", "int8", "complex64"], dense_add, True),
    ("SparseDenseCwiseAdd", REAL, cellwise(), False),
    ("SparseDenseCwiseMul", REAL, cellwise(), True),
    ("SparseDenseCwiseDiv", REAL, cellwise(1), True),
    ("SparseReduceSum", [*REAL, "complex64"], reduction, True),
    ("SparseReduceMax", REAL, reduction, False),
    ("SparseReduceSumSparse", [*REAL, "complex64"], reduction, False),
    ("SparseReduceMaxSparse", REAL, reduction, False),
    ("SparseSoftmax", ["float16", *WIDE], softmax, True),
    ("EditDistance", ["int32", "string", "float32", "bool"], edit_distance, False),
    ("DenseToDenseSetOperation", INTEGERS, set_operation(["dense", "dense"]), False),
    ("DenseToSparseSetOperation", INTEGERS, set_operation(["dense", "sparse"]), False),
    ("SparseToSparseSetOperation", INTEGERS, set_operation(["sparse", "sparse"]), False),
    ("SetSize", INTEGERS, set_size, False),
    ("SparseCross", ["string"], cross, False),
    ("SparseCrossV2", ["string"], cross_texts, False),
    ("SparseCrossHashed", ["string"], cross_hashed, False),
    ("RaggedTensorToSparse", ANY, ragged_to_sparse, True),
    ("RaggedGather", ANY, ragged_gather, True),
    ("RaggedRange", ["int32", "int64", "float32", "float64"], ragged_range, False),
    ("RaggedTensorToTensor", ["float32", "float64", "int64", "string"], ragged_to_tensor, True),
    ("DenseCountSparseOutput", ["int32", "int64", "float32", "float64"], dense_count, False),
    ("RaggedCountSparseOutput", ["int32", "int64", "float32", "float64"], ragged_count, False),
    # TensorFlow adds up probabilities as floats, also those of doubles.
    ("CTCLoss", ["float32"], ctc_loss, True),
    ("CTCGreedyDecoder", WIDE, ctc_greedy, False),
    ("CTCBeamSearchDecoder", ["float32"], ctc_beam, False),
]

UNCOMPARED = {"CTCLossV2": "TensorFlow has no kernel for it on CPUs"}

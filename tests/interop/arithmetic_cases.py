"""Rows of rows.py for arithmetic: old names, gradients as ops of their own, counts, segments of sparse rows."""

import numpy as np

from cases import COMPLEX, FLOATS, INTEGERS, Row, SIGNED, WIDE, binary, rows_of, unary

DIFFERENTIABLE = [*FLOATS, *COMPLEX]
COUNTED = ["int32", "int64", *WIDE]


def flag(m):
    return bool(m.one_in(2))


# --- two by two ---


def divided(m):
    """By zero, too, of integers in one case of twelve: which is an error."""
    low = 0 if "int" not in m.dtype or m.one_in(12) else 1
    return binary(-9, 9, second=(low, 4))(m)


def remainder(m):
    return binary(-9, 9, second=(0 if m.one_in(12) and "int" in m.dtype else 1, 4))(m)


def mul_no_nan(m):
    one, other = m.broadcasting()
    dtype, x = m.values(one)
    if x.size and m.one_in(3):
        x.flat[0] = m.choice([np.nan, np.inf])
    kind, y = m.values(other)
    y[m.rng.integers(0, 2, other).astype(bool)] = 0
    return {"x": (dtype, x), "y": (kind, y)}, {}


def approximately(m):
    shape = m.shape(least=1)
    dtype, x = m.values(shape)
    other = m.values((*shape, 2) if m.one_in(8) else shape)
    y = (dtype, x + np.asarray(m.choice([0, 1e-3, 0.5]), x.dtype)) if flag(m) else other
    return {"x": (dtype, x), "y": y}, {"tolerance": float(m.choice([1e-5, 0.01, 1.0]))}


def added(m):
    shape = m.shape()
    parts = [m.values(shape) for _ in range(m.choice([1, 2, 3]))]
    if m.one_in(12):
        parts.append(m.values((*shape, 1)))
    return {"inputs": parts}, {"shape": list(shape)}


def of_gradient(low=-2, high=2):
    """What the gradient of a function of one argument is given: the result, and what came back to it."""

    def make(m):
        shape = m.shape()
        return {"y": m.values(shape, low, high), "dy": m.values(shape)}, {}

    return make


def igamma_grad(m):
    one, other = m.broadcasting()
    return {"a": m.values(one, 0.3, 5), "x": m.values(other, 0.1, 6)}, {}


def mul_matrices(m):
    a, b, c = (int(size) for size in m.rng.integers(0 if m.one_in(6) else 1, 4, 3))
    batch = m.shape(ranks=(0, 1, 2), least=1)
    adj_x, adj_y = flag(m), flag(m)
    inner = b + int(m.one_in(12))
    other = tuple(dim + 1 for dim in batch) if m.one_in(8) else batch
    if m.one_in(12) and batch:
        other = batch[1:]
    return {
        "x": m.values((*batch, b, a) if adj_x else (*batch, a, b)),
        "y": m.values((*other, c, inner) if adj_y else (*other, inner, c)),
    }, {"adj_x": adj_x, "adj_y": adj_y}


# --- all of some ---


def all_or_any(m):
    shape = m.shape(ranks=(0, 1, 2, 3))
    rank = len(shape)
    axes = m.rng.permutation(rank)[: m.rng.integers(0, rank + 1)]
    if m.one_in(4):
        axes = axes - rank
    if m.one_in(12):
        axes = [rank]
    kind = m.choice(["int32", "int64"])
    return {"input": m.values(shape), "axis": m.integers(axes, kind)}, {"keep_dims": flag(m)}


def numbers_in_steps(m):
    whole = "int" in m.dtype
    start, limit = ((int if whole else float)(m.rng.integers(0, 9)) for _ in range(2))
    delta = m.choice([1, 2, 3] if whole else [0.5, 0.25, 2.0])
    if limit < start and not m.dtype.startswith("u"):
        delta = -delta
    if m.one_in(10):
        delta = m.choice([0, delta if m.dtype.startswith("u") else -delta])
    names = {"start": start, "limit": limit, "delta": delta}
    stored = "float32" if m.dtype == "bfloat16" else m.dtype
    return {name: (m.dtype, np.asarray(each, stored)) for name, each in names.items()}, {}


def evenly(m):
    number = m.integers(m.choice([1, 2, 3, 7, 0, -1]), m.choice(["int32", "int64"]))
    return {"start": m.values((), -9, 9), "stop": m.values((), -9, 9), "num": number}, {}


# --- counts ---


def weights(m, shape):
    return m.values(shape) if flag(m) else (m.dtype, np.zeros((0,), m.dtype))


def numbers(m, shape, kind):
    low, high = -1 if m.one_in(8) else 0, 6
    return m.integers(m.rng.integers(low, high, shape), kind)


def ragged_counts(m):
    lengths = m.rng.integers(0, 4, int(m.rng.integers(1, 4)))
    splits = np.concatenate([[int(m.one_in(12))], np.cumsum(lengths)])
    kind = m.choice(["int32", "int64"])
    shape = (int(splits[-1]) + int(m.one_in(12)),)
    return {
        "splits": m.integers(splits, "int64"),
        "values": numbers(m, shape, kind),
        "size": m.integers(m.choice([0, 3, 6, -1]) if m.one_in(6) else 4, kind),
        "weights": weights(m, shape),
    }, {"binary_output": flag(m)}


def places(m, dims):
    whole = int(np.prod(dims))
    flat = np.sort(m.rng.choice(whole, int(m.rng.integers(0, whole + 1)), replace=False))
    return np.stack(np.unravel_index(flat, dims), 1).reshape(len(flat), len(dims))


def sparse_counts(m):
    dims = [int(each) for each in m.rng.integers(1, 5, m.choice([1, 2]))]
    indices = places(m, dims)
    kind = m.choice(["int32", "int64"])
    shape = (len(indices),)
    return {
        "indices": m.integers(indices, "int64"),
        "values": numbers(m, shape, kind),
        "dense_shape": m.integers(dims, "int64"),
        "size": m.integers(4 if not m.one_in(8) else m.choice([0, -1, 9]), kind),
        "weights": weights(m, shape),
    }, {"binary_output": flag(m)}


def sparse_counts_into_sparse(m):
    dims = [
        int(each) for each in m.rng.integers(1, 5, m.choice([1, 2, 3] if m.one_in(8) else [1, 2]))
    ]
    indices = places(m, dims)
    shape = (len(indices),)
    return {
        "indices": m.integers(indices, "int64"),
        "values": numbers(m, shape, m.choice(["int32", "int64"])),
        "dense_shape": m.integers(dims, "int64"),
        "weights": weights(m, shape),
    }, {
        "minlength": int(m.choice([-1, 0, 3, 8])),
        "maxlength": int(m.choice([-1, -1, 0, 3])),
        "binary_output": bool(m.one_in(3)),
    }


# --- segments ---


def segment_grad(m):
    rows, size = int(m.rng.integers(1, 5)), int(m.rng.integers(1, 6))
    row = m.shape(ranks=(0, 1), least=1)
    ids = np.sort(m.rng.integers(0, rows + int(m.one_in(8)), 4))
    kinds = [m.choice(["int32", "int64"]) for _ in range(2)]
    return {
        "grad": m.values((rows, *row)),
        "indices": m.indices((4,), size + int(m.one_in(8)), kinds[0]),
        "segment_ids": m.integers(ids, kinds[1]),
        "output_dim0": m.integers(size),
    }, {}


TABLE = [
    Row(
        "Add",
        [*DIFFERENTIABLE, "int32", "int64", "int8", "int16", "uint8", "string"],
        binary(),
        gradient=True,
    ),
    Row("Div", [*DIFFERENTIABLE, *INTEGERS], divided, gradient=True),
    *rows_of("Mod TruncateMod", ["int32", "int64", *WIDE], remainder),
    Row("MulNoNan", DIFFERENTIABLE, mul_no_nan, gradient=True),
    Row("ApproximateEqual", WIDE, approximately),
    Row("AccumulateNV2", [*DIFFERENTIABLE, *INTEGERS], added, gradient=True),
    *rows_of("Dawsn Expint Spence", WIDE, unary(0.2, 3), gradient=True, tolerance=10),
    *rows_of("FresnelCos FresnelSin", WIDE, unary(-3, 3), gradient=True, tolerance=10),
    *rows_of("LogicalAnd LogicalOr", ["bool"], binary()),
    Row("LogicalNot", ["bool"], unary()),
    Row("Inv", DIFFERENTIABLE, unary(0.3, 4), gradient=True),
    *rows_of("InvGrad ReciprocalGrad", DIFFERENTIABLE, of_gradient(), gradient=True),
    *rows_of("SqrtGrad RsqrtGrad", DIFFERENTIABLE, of_gradient(0.3, 2), gradient=True),
    Row("IgammaGradA", WIDE, igamma_grad, tolerance=50),
    Row(
        "BatchMatMul",
        [*FLOATS, "int32", "int64", *COMPLEX],
        mul_matrices,
        gradient=True,
        tolerance=5,
    ),
    *rows_of("All Any", ["bool"], all_or_any),
    Row("Range", [*FLOATS, *SIGNED, "uint16", "uint32"], numbers_in_steps),
    Row("LinSpace", WIDE, evenly),
    Row("RaggedBincount", COUNTED, ragged_counts),
    Row("SparseBincount", COUNTED, sparse_counts),
    Row("SparseCountSparseOutput", COUNTED, sparse_counts_into_sparse),
    *rows_of(
        "SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad", FLOATS, segment_grad
    ),
]

REASONS = {
    ("SparseBincount", "values in TensorFlow, InvalidArgumentError here"): (
        "it counts a negative number of a matrix in the row before"
    ),
    ("TruncateMod", "InternalError in TensorFlow"): (
        "it does not expect its own error of integers that are divided by zero"
    ),
}

UNCOMPARED = {
    f"Segment{of}V2": "TensorFlow has no kernel for it on CPUs"
    for of in ("Sum", "Prod", "Min", "Max")
}

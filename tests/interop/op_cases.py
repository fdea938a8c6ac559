"""Single ops with values, seeded: what test_ops_beside_tensorflow.py feeds to both.

TABLE has the rows of arithmetic, arrays and random numbers; rows.py finds those of the neighbours. To add an
op, add a row: it makes cases, the op's inputs and attributes by their names, and says whether gradients are
compared, too. About one in eight cases of the rows that say how is wrong on purpose (an index out of range,
shapes that do not fit): then the codes of the errors must agree.
"""

import numpy as np

from cases import (
    ANY,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REAL,
    Row,
    SIGNED,
    WIDE,
    binary,
    rows_of,
    unary,
)


# --- picking and dealing out ---


def unique(m):
    return {"x": m.values(m.shape(ranks=(1,), most=9), 0, 2)}, {}


def unique_v2(m):
    shape = m.shape(ranks=(1, 2, 3))
    return {
        "x": m.values(shape, 0, 1),
        "axis": m.integers([m.rng.integers(len(shape))], "int64"),
    }, {}


def list_diff(m):
    return {"x": m.values((7,), 0, 4), "y": m.values(m.shape(ranks=(1,)), 0, 4)}, {}


def dynamic_partition(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    prefix = shape[: m.rng.integers(1, len(shape) + 1)]
    limit = 4 if m.one_in(8) else 3
    partitions = m.indices(prefix, limit, "int32")
    return {"data": m.values(shape), "partitions": partitions}, {"num_partitions": 3}


def dynamic_stitch(m):
    row = m.shape(ranks=(0, 1))
    order = m.rng.permutation(6)
    parts = [order[:2], order[2:5].reshape(3, 1), order[5]]
    indices = [m.integers(part) for part in parts]
    data = [m.values((*np.shape(part), *row)) for part in parts]
    return {"indices": indices, "data": data}, {}


def gather_nd(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    depth = int(m.rng.integers(1, len(shape) + 1))
    limit = min(shape[:depth]) + (1 if m.one_in(8) else 0)
    batch = m.shape(ranks=(0, 1, 2))
    return {"params": m.values(shape), "indices": m.indices((*batch, depth), limit)}, {}


def nd_updates(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    depth = int(m.rng.integers(1, len(shape) + 1))
    limit = min(shape[:depth]) + (1 if m.one_in(8) else 0)
    batch = m.shape(ranks=(1,), least=1)
    return shape, m.indices((*batch, depth), limit), m.values((*batch, *shape[depth:]))


def scatter_nd(m):
    shape, indices, updates = nd_updates(m)
    return {"indices": indices, "updates": updates, "shape": m.integers(shape, indices[0])}, {}


def tensor_scatter(m):
    shape, indices, updates = nd_updates(m)
    return {"tensor": m.values(shape), "indices": indices, "updates": updates}, {}


def scatter_update(m):
    """Without an index twice: of these the last one wins, or the first."""
    shape = m.shape(ranks=(1, 2), least=2)
    order = m.rng.permutation(shape[0])[:2].reshape(2, 1)
    updates = m.values((2, *shape[1:]))
    return {"tensor": m.values(shape), "indices": m.integers(order), "updates": updates}, {}


def gather(m):
    shape = m.shape(ranks=(2, 3), least=1)
    batch = int(m.rng.integers(0, 2))
    axis = int(m.rng.integers(batch, len(shape)))
    limit = shape[axis] + (1 if m.one_in(8) else 0)
    indices = m.indices((*shape[:batch], *m.shape(ranks=(1,))), limit)
    inputs = {"params": m.values(shape), "indices": indices, "axis": m.integers(axis)}
    return inputs, {"batch_dims": batch}


def sparse_to_dense(m):
    order = np.sort(m.rng.permutation(6)[:3])
    if m.one_in(4):
        order = order[::-1]
    return {
        "sparse_indices": m.integers(order),
        "output_shape": m.integers([6]),
        "sparse_values": m.values((3,)),
        "default_value": m.values(()),
    }, {"validate_indices": bool(m.one_in(2))}


# --- segments and counts ---


def segment(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    ids = np.sort(m.rng.integers(0, 4, shape[0]))
    if m.one_in(8):
        ids = ids[::-1] - 1
    return {"data": m.values(shape), "segment_ids": m.integers(ids)}, {}


def unsorted_segment(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    prefix = shape[: m.rng.integers(1, len(shape) + 1)]
    ids = m.rng.integers(-1, 5 if m.one_in(8) else 4, prefix)
    inputs = {"data": m.values(shape), "segment_ids": m.integers(ids)}
    return {**inputs, "num_segments": m.integers(4)}, {}


def sparse_segment(number):
    def make(m):
        shape = m.shape(ranks=(1, 2), least=1)
        limit = shape[0] + (1 if m.one_in(8) else 0)
        inputs = {
            "data": m.values(shape),
            "indices": m.indices((4,), limit, "int32"),
            "segment_ids": m.integers(np.sort(m.rng.integers(0, 3, 4))),
        }
        return ({**inputs, "num_segments": m.integers(4)} if number else inputs), {}

    return make


def bincount(m):
    arr = m.rng.integers(-1 if m.one_in(8) else 0, 5, m.shape(ranks=(1,), least=1))
    weights = m.values(arr.shape) if m.one_in(2) else (m.dtype, np.zeros((0,), m.dtype))
    return {"arr": m.integers(arr), "size": m.integers(4), "weights": weights}, {}


def dense_bincount(m):
    arr = m.rng.integers(0, 5, m.shape(ranks=(1, 2), least=1))
    weights = m.values(arr.shape) if m.one_in(2) else (m.dtype, np.zeros((0,), m.dtype))
    inputs = {"input": m.integers(arr), "size": m.integers(4), "weights": weights}
    return inputs, {"binary_output": bool(m.one_in(2))}


def histogram(m):
    bounds = [2, 2] if m.one_in(8) else [-2, 2]
    value_range = (m.dtype, np.asarray(bounds, m.dtype))
    return {"values": m.values(), "value_range": value_range, "nbins": m.integers(4)}, {}


# --- along axes ---


def scan(m):
    shape = m.shape(ranks=(1, 2, 3))
    axis = int(m.rng.integers(-len(shape), len(shape))) + (5 if m.one_in(8) else 0)
    attrs = {"exclusive": bool(m.one_in(2)), "reverse": bool(m.one_in(2))}
    return {"x": m.values(shape), "axis": m.integers(axis)}, attrs


def reduction(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    axes = m.rng.permutation(len(shape))[: m.rng.integers(0, len(shape) + 1)]
    attrs = {"keep_dims": bool(m.one_in(2))}
    return {"input": m.values(shape), "axis": m.integers(axes)}, attrs


def top_k(m):
    return {
        "input": m.values(m.shape(ranks=(1, 2, 3), least=2)),
        "k": m.integers(m.choice([0, 1, 2, 5])),
    }, {}


# --- matrices ---


def matrix(m):
    return {"input": m.values(m.shape(ranks=(2, 3), least=1))}, {}


def diagonal(m):
    return {"diagonal": m.values(m.shape(ranks=(1, 2), least=1))}, {}


def diag_part(m):
    shape = m.shape(ranks=(1, 2), most=3, least=1)
    return {"input": m.values(shape + shape)}, {}


def matrix_diag_v3(m):
    count = int(m.rng.integers(1, 4))
    low = int(m.rng.integers(-1, 2))
    shape = (*m.shape(ranks=(0, 1)), *([count] if count > 1 else []), 3)
    inputs = {
        "diagonal": m.values(shape),
        "k": m.integers([low, low + count - 1]),
        "num_rows": m.integers(-1),
        "num_cols": m.integers(m.choice([-1, -1, 7])),
        "padding_value": m.values(()),
    }
    return inputs, {"align": m.choice(["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"])}


def matrix_diag_part_v3(m):
    low = int(m.rng.integers(-2, 2))
    inputs = {
        "input": m.values((*m.shape(ranks=(0, 1)), 3, 4)),
        "k": m.integers([low, low + int(m.rng.integers(0, 3)) + (9 if m.one_in(8) else 0)]),
        "padding_value": m.values(()),
    }
    return inputs, {"align": m.choice(["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"])}


def matrix_set_diag_v3(m):
    low = int(m.rng.integers(-1, 1))
    inputs = {
        "input": m.values((2, 3, 3)),
        "diagonal": m.values((2, 2, 3)),
        "k": m.integers([low, low + 1]),
    }
    return inputs, {"align": m.choice(["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"])}


def band_part(m):
    kept = m.rng.integers(-1, 4, 2)
    return {
        "input": m.values((*m.shape(ranks=(0, 1)), 3, 4)),
        "num_lower": m.integers(kept[0], "int64"),
        "num_upper": m.integers(kept[1], "int64"),
    }, {}


def einsum(m):
    equation, shapes = m.choice(
        [
            ("ij,jk->ik", [(2, 3), (3, 4)]),
            ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
            ("ij->ji", [(2, 3)]),
            ("ii->i", [(3, 3)]),
            ("ij->", [(2, 3)]),
            ("i,j->ij", [(2,), (3,)]),
            ("...ij,...jk->...ik", [(2, 1, 2, 3), (4, 3, 2)]),
            ("ijk,k->ij", [(2, 3, 4), (4,)]),
            ("ij,ij->", [(2, 3), (2, 3)]),
            ("ij,jk->ik", [(2, 3), (2, 4)]),
        ]
    )
    return {"inputs": [m.values(shape) for shape in shapes]}, {"equation": equation}


# --- elements in other places ---


def roll(m):
    shape = m.shape(ranks=(1, 2, 3))
    axes = m.rng.integers(-len(shape), len(shape), 2)
    shift = m.rng.integers(-7, 8, 2)
    return {"input": m.values(shape), "shift": m.integers(shift), "axis": m.integers(axes)}, {}


def reverse_sequence(m):
    shape = m.shape(ranks=(2, 3), least=1)
    lengths = m.rng.integers(0, shape[1] + (2 if m.one_in(8) else 1), shape[0])
    inputs = {"input": m.values(shape), "seq_lengths": m.integers(lengths, "int64")}
    return inputs, {"seq_dim": 1, "batch_dim": 0}


def mirror_pad(m):
    shape = m.shape(ranks=(1, 2, 3), least=2)
    paddings = m.rng.integers(0, 2, (len(shape), 2)) + (4 if m.one_in(8) else 0)
    inputs = {"input": m.values(shape), "paddings": m.integers(paddings)}
    return inputs, {"mode": m.choice(["REFLECT", "SYMMETRIC"])}


def space_to_batch(m):
    shape = (m.rng.integers(1, 3), *(2 * m.rng.integers(1, 3, 2)), *m.shape(ranks=(0, 1)))
    paddings = m.choice([[[0, 0], [0, 0]], [[1, 1], [2, 0]], [[1, 0], [0, 0]]])
    inputs = {"input": m.values(shape), "block_shape": m.integers([2, 2])}
    return {**inputs, "paddings": m.integers(paddings)}, {}


def batch_to_space(m):
    shape = (4 * m.rng.integers(1, 3), *m.rng.integers(1, 4, 2), *m.shape(ranks=(0, 1)))
    crops = m.choice([[[0, 0], [0, 0]], [[1, 0], [0, 1]], [[3, 3], [0, 0]]])
    inputs = {"input": m.values(shape), "block_shape": m.integers([2, 2])}
    return {**inputs, "crops": m.integers(crops)}, {}


def space_to_depth(m):
    return {"input": m.values((2, 2 * m.rng.integers(1, 3), 4, 3))}, {"block_size": 2}


def depth_to_space(m):
    return {"input": m.values((2, 2, 3, m.choice([4, 8, 6])))}, {"block_size": 2}


def patches(m):
    attrs = {
        "ksizes": [1, 2, int(m.rng.integers(1, 4)), 1],
        "strides": [1, int(m.rng.integers(1, 3)), 2, 1],
        "rates": [1, 1, int(m.rng.integers(1, 3)), 1],
        "padding": m.choice(["SAME", "VALID"]),
    }
    return {"images": m.values((2, 4, 5, 2))}, attrs


def clip(m):
    shape = m.shape()
    low, high = m.values((), -2, 0), m.values((), 1, 2)
    return {"t": m.values(shape), "clip_value_min": low, "clip_value_max": high}, {}


def cross(m):
    shape = (*m.shape(ranks=(0, 1, 2)), 2 if m.one_in(8) else 3)
    return {"a": m.values(shape), "b": m.values(shape)}, {}


def betainc(m):
    shape = m.shape()
    bounds = {"a": (0.5, 4), "b": (0.5, 4), "x": (0.01, 0.99)}
    return {name: m.values(shape, *bound) for name, bound in bounds.items()}, {}


def polygamma(m):
    shape = m.shape()
    return {
        "a": (m.dtype, m.rng.integers(0, 4, shape).astype(m.dtype)),
        "x": m.values(shape, 0.3, 5),
    }, {}


def complex_parts(m):
    tout = "float64" if m.dtype == "complex128" else "float32"
    return {"input": m.values()}, {"Tout": tout}


def complex_abs(m):
    inputs, attrs = complex_parts(m)
    return {"x": inputs["input"]}, attrs


def make_complex(m):
    shape = m.shape()
    tout = "complex128" if m.dtype == "float64" else "complex64"
    return {"real": m.values(shape), "imag": m.values(shape)}, {"Tout": tout}


def fake_quant_args(m):
    attrs = {
        "min": -2.0,
        "max": 2.5,
        "num_bits": m.choice([2, 4, 8]),
        "narrow_range": bool(m.one_in(2)),
    }
    return {"inputs": m.values()}, attrs


def fake_quant_vars(m):
    attrs = {"num_bits": m.choice([2, 4, 8]), "narrow_range": bool(m.one_in(2))}
    return {"inputs": m.values(), "min": m.values((), -2, 0), "max": m.values((), 1, 2)}, attrs


def fake_quant_channels(m):
    inputs, attrs = fake_quant_vars(m)
    shape = (2, 3)
    bounds = {"min": m.values((3,), -2, 0), "max": m.values((3,), 1, 2)}
    return {"inputs": m.values(shape), **bounds}, attrs


def quantize(m):
    shape = m.shape(ranks=(1, 2), least=1)
    attrs = {
        "signed_input": bool(m.one_in(2)),
        "num_bits": m.choice([2, 4, 8]),
        "range_given": bool(m.one_in(2)),
        "narrow_range": bool(m.one_in(2)),
        "round_mode": m.choice(["HALF_TO_EVEN", "HALF_UP"]),
    }
    low, high = m.values((), -2, 0), m.values((), 1, 2)
    return {"input": m.values(shape), "input_min": low, "input_max": high}, attrs


def unravel(m):
    indices = m.indices((3,), 13 if m.one_in(4) else 12, "int32")
    return {"indices": indices, "dims": m.integers([3, 4])}, {}


# --- random numbers: the same seeds, the same numbers ---


def seeds(m):
    return {"seed": int(m.rng.integers(1, 1000)), "seed2": int(m.rng.integers(0, 1000))}


def random_numbers(m):
    shape = m.shape(ranks=(1, 2), most=9)
    return {"shape": m.integers(shape)}, {"dtype": m.dtype, **seeds(m)}


def random_integers(m):
    inputs = {"shape": m.integers((7,)), "minval": (m.dtype, np.asarray(-5, m.dtype))}
    return {**inputs, "maxval": (m.dtype, np.asarray(900, m.dtype))}, seeds(m)


def random_shuffle(m):
    return {"value": m.values(m.shape(ranks=(1, 2), most=9))}, seeds(m)


def multinomial(m):
    return {"logits": m.values((m.rng.integers(1, 4), 5)), "num_samples": m.integers(6)}, seeds(m)


def random_gamma(m):
    return {"shape": m.integers((5,)), "alpha": m.values((2,), 0.3, 4)}, seeds(m)


def random_poisson(m):
    high = m.choice([8, 60])
    return {"shape": m.integers((5,)), "rate": m.values((2,), 0.3, high)}, {
        "dtype": m.dtype,
        **seeds(m),
    }


def stateless(m):
    shape = m.shape(ranks=(1, 2), most=9)
    seed = m.integers(m.rng.integers(-900, 900, 2), "int64")
    return {"shape": m.integers(shape), "seed": seed}, {"dtype": m.dtype}


def stateless_int(m):
    inputs, _ = stateless(m)
    bounds = {
        "minval": (m.dtype, np.asarray(-5, m.dtype)),
        "maxval": (m.dtype, np.asarray(900, m.dtype)),
    }
    return {**inputs, **bounds}, {}


def stateless_v2(m):
    inputs = {
        "shape": m.integers(m.shape(ranks=(1, 2), most=9)),
        "key": m.values((1,), 0, 900, "uint64"),
        "counter": m.values((2,), 0, 900, "uint64"),
        "alg": m.integers(1),
    }
    return inputs, {"dtype": m.dtype}


def stateless_multinomial(m):
    inputs, _ = multinomial(m)
    return {**inputs, "seed": m.integers(m.rng.integers(-900, 900, 2), "int64")}, {}


def key_counter(m):
    return {"seed": m.integers(m.rng.integers(-900, 900, 2), "int64")}, {}


TABLE = [
    *rows_of("Acos Asin Atanh", [*FLOATS, *COMPLEX], unary(-0.9, 0.9), gradient=True),
    *rows_of("Atan Sinh Cosh Asinh", [*FLOATS, *COMPLEX], unary(-2, 2), gradient=True),
    Row("Acosh", [*FLOATS, *COMPLEX], unary(1.2, 3), gradient=True),
    *rows_of("Erf Erfc", FLOATS, unary(), gradient=True),
    *rows_of("Erfinv", FLOATS, unary(-0.95, 0.95), gradient=True),
    *rows_of("Ndtri", FLOATS, unary(0.1, 0.9), gradient=True),
    Row("Lgamma", FLOATS, unary(0.3, 5), gradient=True),
    Row("Digamma", WIDE, unary(0.3, 5), gradient=True),
    *rows_of("BesselI0 BesselI1 BesselI0e BesselI1e", WIDE, unary(), gradient=True),
    *rows_of("BesselJ0 BesselJ1", WIDE, unary(0.2, 9), gradient=True, tolerance=10),
    *rows_of("BesselY0 BesselY1", WIDE, unary(0.2, 9), gradient=True, tolerance=10),
    *rows_of("BesselK0 BesselK1 BesselK0e BesselK1e", WIDE, unary(0.2, 9), gradient=True),
    *rows_of("Xdivy", [*FLOATS, *COMPLEX], binary(-1, 1, second=(1, 3)), gradient=True),
    *rows_of("Xlogy Xlog1py", [*FLOATS, *COMPLEX], binary(0, 2, second=(0.5, 3)), gradient=True),
    *rows_of(
        "Igamma Igammac", WIDE, binary(0.3, 4, ("a", "x"), (0.2, 5)), gradient=True, tolerance=10
    ),
    Row("Zeta", WIDE, binary(1.2, 4, ("x", "q"), (0.3, 3)), gradient=True),
    Row("Polygamma", WIDE, polygamma, gradient=True),
    Row("Betainc", WIDE, betainc, gradient=True, tolerance=10),
    Row("NextAfter", WIDE, binary(names=("x1", "x2"))),
    *rows_of("BitwiseAnd BitwiseOr BitwiseXor", INTEGERS, binary(-90, 90)),
    *rows_of("LeftShift RightShift", INTEGERS, binary(-90, 90, second=(0, 7))),
    *rows_of("Invert PopulationCount", INTEGERS, unary(-90, 90)),
    Row("Conj", COMPLEX, unary(name="input"), gradient=True),
    *rows_of("Real Imag Angle", COMPLEX, complex_parts, gradient=True),
    Row("ComplexAbs", COMPLEX, complex_abs, gradient=True),
    Row("Complex", WIDE, make_complex, gradient=True),
    *rows_of("Mul Sub AddV2", NUMBERS, binary(), gradient=True),
    *rows_of("Maximum Minimum", REAL, binary(), gradient=True),
    *rows_of("RealDiv", [*FLOATS, *COMPLEX], binary(second=(1, 3)), gradient=True),
    *rows_of("DivNoNan", ["float32", "float64", "complex64"], binary(-1, 2), gradient=True),
    *rows_of("FloorDiv FloorMod", [*FLOATS, *INTEGERS[:5]], binary(-9, 9, second=(1, 4))),
    *rows_of("TruncateDiv", INTEGERS, binary(-9, 9, second=(1, 4))),
    *rows_of("SquaredDifference", [*FLOATS, "int32", "int64"], binary(), gradient=True),
    *rows_of("Pow", [*FLOATS, "complex64"], binary(0.5, 2, second=(-2, 2)), gradient=True),
    *rows_of("Atan2", FLOATS, binary(0.5, 2, ("y", "x")), gradient=True),
    *rows_of("Less LessEqual Greater GreaterEqual", REAL, binary(-2, 2)),
    *rows_of("Equal NotEqual", NUMBERS, binary(-1, 1)),
    *rows_of("Neg", [*FLOATS, *SIGNED, *COMPLEX], unary(), gradient=True),
    *rows_of("Abs", [*FLOATS, *SIGNED], unary(), gradient=True),
    *rows_of("Sign", [*FLOATS, *SIGNED, *COMPLEX], unary(), gradient=True),
    *rows_of("Square", [*FLOATS, "int32", "int64", *COMPLEX], unary(), gradient=True),
    *rows_of("Exp Expm1 Tanh Sin Cos Sigmoid", [*FLOATS, *COMPLEX], unary(-2, 2), gradient=True),
    *rows_of("Sqrt Rsqrt Log Log1p Reciprocal", [*FLOATS, *COMPLEX], unary(0.3, 4), gradient=True),
    *rows_of("Tan", [*FLOATS, *COMPLEX], unary(-1, 1), gradient=True),
    *rows_of("Floor Ceil Rint", FLOATS, unary()),
    Row("Round", FLOATS, unary()),
    *rows_of("IsNan IsInf IsFinite", FLOATS, unary()),
    *rows_of("Unique UniqueWithCounts", ANY, unique),
    *rows_of("UniqueV2 UniqueWithCountsV2", ["float32", "int64", "string", "bool"], unique_v2),
    Row("ListDiff", ["float32", "int64", "string", "uint8"], list_diff),
    Row("DynamicPartition", ANY, dynamic_partition, gradient=True),
    *rows_of("DynamicStitch ParallelDynamicStitch", ANY, dynamic_stitch, gradient=True),
    Row("GatherNd", ANY, gather_nd, gradient=True),
    Row("GatherV2", ANY, gather, gradient=True),
    Row("ScatterNd", [*NUMBERS, "bool"], scatter_nd, gradient=True),
    Row("TensorScatterUpdate", ANY, scatter_update, gradient=True),
    *rows_of("TensorScatterAdd TensorScatterSub", NUMBERS, tensor_scatter, gradient=True),
    *rows_of("TensorScatterMin TensorScatterMax", REAL, tensor_scatter, gradient=True),
    Row("SparseToDense", ["float32", "int64", "bool", "string"], sparse_to_dense, gradient=True),
    Row("UnravelIndex", ["int32"], unravel),
    *rows_of("SegmentSum SegmentMean SegmentProd", NUMBERS, segment, gradient=True),
    *rows_of("SegmentMin SegmentMax", REAL, segment, gradient=True),
    *rows_of("UnsortedSegmentSum UnsortedSegmentProd", NUMBERS, unsorted_segment, gradient=True),
    *rows_of("UnsortedSegmentMin UnsortedSegmentMax", REAL, unsorted_segment, gradient=True),
    *rows_of(
        "SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN",
        FLOATS,
        sparse_segment(False),
        gradient=True,
    ),
    *rows_of(
        "SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments "
        "SparseSegmentSqrtNWithNumSegments",
        FLOATS,
        sparse_segment(True),
        gradient=True,
    ),
    Row("Bincount", ["int32", "int64", "float32", "float64"], bincount),
    Row("DenseBincount", ["int32", "int64", "float32", "float64"], dense_bincount),
    Row("HistogramFixedWidth", ["int32", "int64", "float32", "float64"], histogram),
    *rows_of("Cumsum Cumprod", NUMBERS, scan, gradient=True),
    Row("CumulativeLogsumexp", FLOATS, scan, gradient=True),
    *rows_of("Sum Prod Mean EuclideanNorm", NUMBERS, reduction, gradient=True),
    *rows_of("Max Min", REAL, reduction, gradient=True),
    Row("TopKV2", REAL, top_k, gradient=True),
    Row("Diag", [*FLOATS, "int32", "int64", *COMPLEX], diagonal, gradient=True),
    Row("DiagPart", [*FLOATS, "int32", "int64", *COMPLEX], diag_part, gradient=True),
    Row("MatrixDiag", ANY[:4], diagonal, gradient=True),
    Row("MatrixDiagPart", ANY[:4], matrix, gradient=True),
    Row("MatrixDiagV3", ANY[:4], matrix_diag_v3, gradient=True),
    Row("MatrixDiagPartV3", ANY[:4], matrix_diag_part_v3, gradient=True),
    Row("MatrixSetDiagV3", ANY[:4], matrix_set_diag_v3, gradient=True),
    Row("MatrixBandPart", ANY[:4], band_part, gradient=True),
    Row("Einsum", [*WIDE, "bfloat16", "complex64", "int32"], einsum, gradient=True),
    Row("Roll", ANY, roll, gradient=True),
    Row("ReverseSequence", ANY[:5], reverse_sequence, gradient=True),
    Row("MirrorPad", ["float32", "float64", "int32", "complex64"], mirror_pad, gradient=True),
    Row("SpaceToBatchND", ["float32", "int64", "float16"], space_to_batch, gradient=True),
    Row("BatchToSpaceND", ["float32", "int64", "float16"], batch_to_space, gradient=True),
    Row("SpaceToDepth", ["float32", "int64", "float16"], space_to_depth, gradient=True),
    Row("DepthToSpace", ["float32", "int64", "float16"], depth_to_space, gradient=True),
    Row("ExtractImagePatches", ["float32", "float64", "int32"], patches, gradient=True),
    Row("ClipByValue", ["float32", "float64", "int32", "int64"], clip, gradient=True),
    Row("Cross", REAL, cross, gradient=True),
    Row("FakeQuantWithMinMaxArgs", ["float32"], fake_quant_args, gradient=True),
    Row("FakeQuantWithMinMaxVars", ["float32"], fake_quant_vars, gradient=True),
    Row("FakeQuantWithMinMaxVarsPerChannel", ["float32"], fake_quant_channels, gradient=True),
    Row("QuantizeAndDequantizeV2", WIDE, quantize, gradient=True),
    *rows_of("RandomUniform RandomStandardNormal TruncatedNormal", FLOATS, random_numbers),
    Row("RandomUniformInt", ["int32", "int64"], random_integers),
    Row("RandomShuffle", ["int32", "float32", "string"], random_shuffle),
    Row("Multinomial", ["float32", "float64"], multinomial),
    Row("RandomGamma", WIDE, random_gamma, gradient=True, tolerance=10),
    Row("RandomPoissonV2", ["float32", "float64"], random_poisson),
    *rows_of(
        "StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal", FLOATS, stateless
    ),
    Row("StatelessRandomUniformInt", ["int32", "int64"], stateless_int),
    Row("StatelessRandomUniformFullInt", ["int32", "int64", "uint32", "uint64"], stateless),
    *rows_of(
        "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2",
        FLOATS,
        stateless_v2,
    ),
    Row("StatelessRandomUniformFullIntV2", ["int32", "int64", "uint32", "uint64"], stateless_v2),
    Row("StatelessMultinomial", ["float32", "float64"], stateless_multinomial),
    Row("StatelessRandomGetKeyCounter", ["int64"], key_counter),
]

REASONS = {
    ("SoftmaxCrossEntropyWithLogits", "gradient 1:"): (
        "its gradient of the labels leaves out what comes by the second output, which is "
        "softmax - labels"
    ),
    ("Where", "UnimplementedError in TensorFlow"): (
        "it lacks kernels for types that its signature allows"
    ),
}

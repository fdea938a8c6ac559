"""Rows of rows.py for ops that networks, arrays, texts and matrices are made of."""

import numpy as np

FLOATS = ["float32", "float64", "float16", "bfloat16"]
WIDE = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64"]
REAL = [*FLOATS, *INTEGERS]
NUMBERS = [*REAL, *COMPLEX]
ANY = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8"]


def flag(m):
    return bool(m.one_in(2))


def padding(m):
    return m.choice(["SAME", "VALID"])


# --- networks ---


def of(name, low=-3, high=3, ranks=(1, 2, 3)):
    return lambda m: ({name: m.values(m.shape(ranks=ranks), low, high)}, {})


def with_slope(m):
    return {"features": m.values()}, {"alpha": m.choice([0.1, 0.5])}


def logits(m):
    return {"logits": m.values(m.shape(ranks=(1, 2, 3), least=1))}, {}


def activation_gradient(first, second):
    def make(m):
        shape = m.shape()
        return {first: m.values(shape), second: m.values(shape)}, {}

    return make


def mat_mul(m):
    rows, inner, columns = (int(n) for n in m.rng.integers(1, 5, 3))
    transposed, other = flag(m), flag(m)
    a = (inner, rows) if transposed else (rows, inner)
    b = (columns, inner) if other else (inner + (1 if m.one_in(8) else 0), columns)
    attrs = {"transpose_a": transposed, "transpose_b": other}
    return {"a": m.values(a), "b": m.values(b)}, attrs


def batch_mat_mul(m):
    rows, inner, columns = (int(n) for n in m.rng.integers(1, 5, 3))
    x, y = m.choice([((2,), (2,)), ((), (2,)), ((2, 1), (3,)), ((2,), ())])
    return {"x": m.values((*x, rows, inner)), "y": m.values((*y, inner, columns))}, {}


def convolution(m):
    inside = int(m.rng.integers(1, 3))
    attrs = {
        "strides": [1, int(m.rng.integers(1, 3)), int(m.rng.integers(1, 3)), 1],
        "padding": padding(m),
    }
    filters = m.values((int(m.rng.integers(1, 4)), 2, inside + (2 if m.one_in(8) else 0), 2))
    return {"input": m.values((2, 4, 5, inside)), "filter": filters}, attrs


def depthwise(m):
    attrs = {"strides": [1, *[int(m.rng.integers(1, 3))] * 2, 1], "padding": padding(m)}
    return {"input": m.values((2, 4, 5, 2)), "filter": m.values((2, 3, 2, 2))}, attrs


def convolution_3d(m):
    attrs = {"strides": [1, 1, int(m.rng.integers(1, 3)), 1, 1], "padding": padding(m)}
    return {"input": m.values((1, 3, 4, 3, 2)), "filter": m.values((2, 2, 2, 2, 1))}, attrs


def pooling(name):
    def make(m):
        attrs = {
            "ksize": [1, int(m.rng.integers(1, 4)), 2, 1],
            "strides": [1, int(m.rng.integers(1, 3)), 2, 1],
            "padding": padding(m),
        }
        return {name: m.values((2, 4, 5, 2))}, attrs

    return make


def pooling_3d(m):
    attrs = {"ksize": [1, 2, 2, 1, 1], "strides": [1, 1, 2, 1, 1], "padding": padding(m)}
    return {"input": m.values((1, 3, 4, 3, 2))}, attrs


def biases(m):
    shape = m.shape(ranks=(2, 3, 4), least=1)
    number = shape[-1] + (1 if m.one_in(8) else 0)
    return {"value": m.values(shape), "bias": m.values((number,))}, {}


def entropy(m):
    shape = m.shape(ranks=(2,), least=1)
    return {"features": m.values(shape), "labels": m.values(shape, 0, 1)}, {}


def sparse_entropy(m):
    rows, classes = m.shape(ranks=(2,), least=1) or (1, 1)
    labels = m.indices((rows,), classes + (1 if m.one_in(8) else 0))
    return {"features": m.values((rows, classes)), "labels": labels}, {}


def top(m):
    rows, classes = 3, 4
    targets = m.indices((rows,), classes, "int32")
    return {
        "predictions": m.values((rows, classes)),
        "targets": targets,
        "k": m.integers(m.choice([1, 2])),
    }, {}


def responses(m):
    attrs = {"depth_radius": int(m.rng.integers(1, 3)), "bias": 1.0, "alpha": 0.5, "beta": 0.5}
    return {"input": m.values((2, 3, 2, 5))}, attrs


def dilation(m):
    attrs = {"strides": [1, 1, 2, 1], "rates": [1, 1, 1, 1], "padding": padding(m)}
    return {"input": m.values((2, 4, 5, 2)), "filter": m.values((2, 3, 2))}, attrs


# --- arrays ---


def concat(m):
    shape = list(m.shape(ranks=(1, 2, 3), least=1))
    axis = int(m.rng.integers(len(shape)))
    parts = []
    for _ in range(int(m.rng.integers(2, 4))):
        shape[axis] = int(m.rng.integers(0, 4))
        parts.append(m.values(tuple(shape)))
    if m.one_in(8):
        parts[0] = m.values((2, 2, 2, 2, 2))
    return {"values": parts, "axis": m.integers(axis)}, {}


def pack(m):
    shape = m.shape(ranks=(0, 1, 2))
    axis = int(m.rng.integers(len(shape) + 1))
    return {"values": [m.values(shape) for _ in range(3)]}, {"axis": axis}


def unpack(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    axis = int(m.rng.integers(len(shape)))
    return {"value": m.values(shape)}, {"num": shape[axis], "axis": axis}


def split(m):
    axis = m.integers(1)
    return {"axis": axis, "value": m.values((2, 5 if m.one_in(8) else 4))}, {"num_split": 2}


def pieces(m):
    sizes = m.choice([[1, 3], [-1, 1], [4, 0], [2, 3]])
    inputs = {"value": m.values((2, 4)), "size_splits": m.integers(sizes, "int64")}
    return {**inputs, "axis": m.integers(1)}, {"num_split": 2}


def cut(m):
    shape = m.shape(ranks=(1, 2, 3), least=2)
    begin = [int(m.rng.integers(0, 2)) for _ in shape]
    size = [
        int(m.rng.integers(-1, dim - at + (2 if m.one_in(16) else 1)))
        for dim, at in zip(shape, begin)
    ]
    return {"input": m.values(shape), "begin": m.integers(begin), "size": m.integers(size)}, {}


def strided(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    begin = m.rng.integers(-5, 5, len(shape))
    end = m.rng.integers(-5, 6, len(shape))
    steps = m.rng.choice([-2, -1, 1, 2, 3], len(shape))
    attrs = {name: int(m.rng.integers(4)) for name in ("begin_mask", "end_mask", "new_axis_mask")}
    return {
        "input": m.values(shape),
        "begin": m.integers(begin),
        "end": m.integers(end),
        "strides": m.integers(steps),
    }, attrs


def tile(m):
    shape = m.shape(ranks=(1, 2, 3))
    times = m.rng.integers(-1 if m.one_in(8) else 0, 4, len(shape))
    return {"input": m.values(shape), "multiples": m.integers(times)}, {}


def pad(m):
    shape = m.shape(ranks=(1, 2, 3))
    paddings = m.rng.integers(-1 if m.one_in(8) else 0, 3, (len(shape), 2))
    return {"input": m.values(shape), "paddings": m.integers(paddings)}, {}


def pad_with(m):
    inputs, attrs = pad(m)
    return {**inputs, "constant_values": m.values(())}, attrs


def expand(m):
    shape = m.shape(ranks=(0, 1, 2))
    axis = int(m.rng.integers(-len(shape) - 1, len(shape) + 1)) + (5 if m.one_in(8) else 0)
    return {"input": m.values(shape), "axis": m.integers(axis)}, {}


def squeeze(m):
    return {"input": m.values((1, 2, 1, 3))}, {"axis": m.choice([[], [0], [2], [0, -2], [1]])}


def reshape(m):
    shape = m.choice([[6], [2, -1], [-1], [3, 2], [1, 6, 1], [4, -1], [-1, -1]])
    return {"tensor": m.values((2, 3)), "shape": m.integers(shape)}, {}


def transpose(m):
    shape = m.shape(ranks=(1, 2, 3, 4))
    order = m.rng.permutation(len(shape)) + (1 if m.one_in(8) else 0)
    return {"x": m.values(shape), "perm": m.integers(order)}, {}


def fill(m):
    return {"dims": m.integers(m.shape(ranks=(1, 2, 3))), "value": m.values(())}, {}


def one_hot(m):
    inputs = {"indices": m.indices(m.shape(ranks=(0, 1, 2)), 5, "int64")}
    inputs |= {"depth": m.integers(4), "on_value": m.values(()), "off_value": m.values(())}
    return inputs, {"axis": m.choice([-1, 0])}


def best(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    axis = int(m.rng.integers(-len(shape), len(shape))) + (7 if m.one_in(8) else 0)
    return {"input": m.values(shape), "dimension": m.integers(axis)}, {}


def select(m):
    shape = m.shape()
    return {
        "condition": m.values(shape, dtype="bool"),
        "x": m.values(shape),
        "y": m.values(shape),
    }, {}


def chosen(names):
    def make(m):
        one, other = m.broadcasting()
        inputs = {"condition": m.values(other, dtype="bool")}
        return {**inputs, names[0]: m.values(one), names[1]: m.values(())}, {}

    return make


def add_n(m):
    shape = m.shape()
    return {"inputs": [m.values(shape) for _ in range(int(m.rng.integers(1, 5)))]}, {}


def reverse(m):
    shape = m.shape(ranks=(1, 2, 3))
    axes = m.rng.permutation(len(shape))[: m.rng.integers(0, len(shape) + 1)]
    return {"tensor": m.values(shape), "axis": m.integers(axes)}, {}


def broadcast(m):
    whole, other = sorted(m.broadcasting(), key=lambda shape: (len(shape), np.prod(shape)))[::-1]
    return {"input": m.values(other), "shape": m.integers(whole)}, {}


def where(m):
    return {"condition": m.values(m.shape(ranks=(1, 2, 3)), -1, 1)}, {}


# --- texts ---


def texts(m, shape=None):
    words = [b"", b"a", b"B c", b" tab\t", b"12", b"-3.5", "Grüße".encode(), b"x,y;z"]
    shape = m.shape() if shape is None else shape
    return "string", m.rng.choice(np.asarray(words, object), shape).astype(object)


def text_alone(name, attrs=()):
    return lambda m: ({name: texts(m)}, dict(attrs))


def hashed(m):
    return {"input": texts(m)}, {"num_buckets": int(m.rng.integers(1, 1000))}


def join(m):
    shape = m.shape()
    return {"inputs": [texts(m, shape), texts(m, shape), texts(m, ())]}, {"separator": "-"}


def replace(m):
    inputs = {"input": texts(m), "pattern": ("string", np.asarray(b"[a-z]+", object))}
    return {**inputs, "rewrite": ("string", np.asarray(b"<\\0>", object))}, {
        "replace_global": flag(m)
    }


def substr(m):
    inputs = {"input": texts(m, (3,)), "pos": m.integers(int(m.rng.integers(-1, 2)))}
    return {**inputs, "len": m.integers(int(m.rng.integers(0, 4)))}, {}


def split_text(m):
    return {
        "input": texts(m, (4,)),
        "sep": ("string", np.asarray(m.choice([b"", b","]), object)),
    }, {"maxsplit": m.choice([-1, 1])}


def as_string(m):
    return {"input": m.values()}, {"width": m.choice([-1, 8])}


def as_number(m):
    words = [b"1", b"-2", b"37", b"x" if m.one_in(8) else b"0"]
    chosen_words = m.rng.choice(np.asarray(words, object), (3,)).astype(object)
    return {"string_tensor": ("string", chosen_words)}, {"out_type": m.dtype}


# --- matrices ---


def positive(name):
    def make(m):
        size = int(m.rng.integers(1, 5))
        _, half = m.values((size, size), -1, 1)
        whole = half @ half.T.conj() + 2 * np.eye(size)
        return {name: (m.dtype, np.asarray(whole, m.dtype))}, {}

    return make


def equations(m):
    inputs, _ = positive("matrix")(m)
    size = inputs["matrix"][1].shape[0]
    rows = size + (1 if m.one_in(8) else 0)
    return {**inputs, "rhs": m.values((rows, 2))}, {"adjoint": flag(m)}


def spectrum(m):
    return {"input": m.values((*m.shape(ranks=(0, 1)), int(m.rng.integers(1, 9))))}, {}


TABLE = [
    *[(op, FLOATS, of("features"), True) for op in ("Relu", "Relu6", "Elu", "Selu")],
    *[(op, FLOATS, of("features"), True) for op in ("Softplus", "Softsign")],
    ("LeakyRelu", FLOATS, with_slope, True),
    ("Softmax", FLOATS, logits, True),
    ("LogSoftmax", FLOATS, logits, True),
    ("ReluGrad", FLOATS, activation_gradient("gradients", "features"), True),
    ("EluGrad", FLOATS, activation_gradient("gradients", "outputs"), True),
    ("SoftplusGrad", FLOATS, activation_gradient("gradients", "features"), True),
    ("TanhGrad", FLOATS, activation_gradient("y", "dy"), True),
    ("SigmoidGrad", FLOATS, activation_gradient("y", "dy"), True),
    ("L2Loss", FLOATS, of("t"), True),
    ("MatMul", [*FLOATS, "int32", "int64", *COMPLEX], mat_mul, True),
    ("BatchMatMulV2", [*WIDE, "int32", "int64", *COMPLEX], batch_mat_mul, True),
    ("Conv2D", WIDE, convolution, True, 4),
    ("DepthwiseConv2dNative", WIDE, depthwise, True, 4),
    ("Conv3D", WIDE, convolution_3d, True, 4),
    ("MaxPool", [*WIDE, "float16"], pooling("input"), True),
    ("AvgPool", [*WIDE, "float16"], pooling("value"), True),
    ("MaxPool3D", ["float32"], pooling_3d, True),
    ("AvgPool3D", WIDE, pooling_3d, True),
    ("BiasAdd", [*FLOATS, "int32", "int64"], biases, True),
    ("SoftmaxCrossEntropyWithLogits", WIDE, entropy, True),
    ("SparseSoftmaxCrossEntropyWithLogits", WIDE, sparse_entropy, True),
    ("InTopKV2", ["float32"], top),
    ("LRN", ["float32"], responses, True, 10),
    ("Dilation2D", WIDE, dilation, True),
    ("ConcatV2", ANY, concat, True),
    ("Pack", ANY, pack, True),
    ("Unpack", ANY, unpack, True),
    ("Split", ANY, split, True),
    ("SplitV", ANY, pieces, True),
    ("Slice", ANY, cut, True),
    ("StridedSlice", ANY, strided, True),
    ("Tile", ANY[:6], tile, True),
    ("Pad", ANY[:3], pad, True),
    ("PadV2", ANY[:3], pad_with, True),
    ("ExpandDims", ANY, expand, True),
    ("Squeeze", ANY, squeeze, True),
    ("Reshape", ANY, reshape, True),
    ("Transpose", ANY, transpose, True),
    ("Fill", ANY, fill, True),
    ("OneHot", ANY, one_hot),
    ("ArgMax", REAL, best),
    ("ArgMin", REAL, best),
    ("Select", ANY, select, True),
    ("SelectV2", ANY, chosen(("t", "e")), True),
    ("AddN", NUMBERS, add_n, True),
    ("SparseMatMul", ["float32", "bfloat16"], mat_mul, True),
    ("ReverseV2", ANY, reverse, True),
    ("BroadcastTo", ANY, broadcast, True),
    ("Where", [*REAL, "bool"], where),
    ("ZerosLike", ANY, of("x"), True),
    ("OnesLike", ANY[:4], of("x"), True),
    *[(op, ANY, of("input")) for op in ("Shape", "Size", "Rank")],
    ("Identity", ANY, of("input"), True),
    *[(op, ["string"], text_alone("input")) for op in ("StringLower", "StringUpper")],
    *[
        (op, ["string"], text_alone("input"))
        for op in ("StringStrip", "StringLength", "EncodeBase64")
    ],
    *[(op, ["string"], hashed) for op in ("StringToHashBucketFast",)],
    ("StringJoin", ["string"], join),
    ("RegexReplace", ["string"], replace),
    ("Substr", ["string"], substr),
    ("StringSplitV2", ["string"], split_text),
    ("AsString", ["float32", "float64", "int32", "int64", "bool"], as_string),
    ("StringToNumber", ["float32", "float64", "int32", "int64"], as_number),
    ("Cholesky", [*WIDE], positive("input"), True, 20),
    ("MatrixInverse", [*WIDE, *COMPLEX], positive("input"), True, 50),
    ("MatrixDeterminant", WIDE, positive("input"), True, 50),
    ("MatrixSolve", WIDE, equations, True, 50),
    *[(op, COMPLEX, spectrum, True, 4) for op in ("FFT", "IFFT")],
]

"""Rows of rows.py for types made of others: casts of every pair, bits as another type, quantized numbers.

Types of few bits are given as those: op_programs.py.
"""

import numpy as np

from cases import ANY, COMPLEX, FLOATS, INTEGERS, NUMBERS, Row, WIDE, rows_of

TINY_FLOATS = ["float8_e5m2", "float8_e4m3fn"]
TINY_INTEGERS = ["int4", "uint4"]
CAST = ["bool", *NUMBERS, *TINY_FLOATS, *TINY_INTEGERS]
QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16"}
QUANTIZED["qint32"] = "int32"
MODES = ["MIN_COMBINED", "MIN_FIRST", "SCALED"]


def flag(m):
    return bool(m.one_in(2))


# --- one type for another ---


def odd(m, dtype, value):
    """With what no number is, in one of its places."""
    if value.size and np.dtype(value.dtype).kind in "fc":
        value.flat[m.rng.integers(value.size)] = m.choice([np.nan, np.inf, -np.inf, -0.0, 1e-40])
    return dtype, value


def of_type(m, shape, low, high):
    if m.dtype in TINY_FLOATS:
        return m.dtype, m.rng.integers(0, 256, shape).astype("uint8")
    if m.dtype in TINY_INTEGERS:
        low, high = (0, 16) if m.dtype == "uint4" else (-8, 8)
        return m.dtype, m.rng.integers(low, high, shape).astype("int8")
    return m.values(shape, low, high)


def is_whole(dtype):
    return "int" in dtype


def cast(m):
    target = m.choice(CAST)
    # A number that an integer can't hold becomes anything.
    high = 7 if target in TINY_INTEGERS else 100
    low = 0 if target.startswith("u") and not is_whole(m.dtype) else -high
    shape = m.shape(ranks=(0, 1, 2), most=5)
    if m.dtype in TINY_FLOATS and is_whole(target):
        # Of positive numbers below four, whose bits are alike in none of the types.
        return {"x": (m.dtype, m.choice([[0], [1, 2, 0x38, 0x39], [0x30, 5]]))}, {"DstT": target}
    given = of_type(m, shape, low, high)
    if m.one_in(4) and not is_whole(target) and m.dtype not in TINY_FLOATS:
        given = odd(m, *given)
    return {"x": given}, {"DstT": target, "Truncate": bool(m.one_in(4))}


SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16}
SIZES.update({kind: int(kind.lstrip("uint")) // 8 for kind in INTEGERS})


def bitcast(m):
    target = m.choice(list(SIZES))
    shape = m.shape(ranks=(0, 1, 2))
    ratio = SIZES[target] // SIZES[m.dtype]
    if ratio > 1:
        shape = (*shape, 3 if m.one_in(8) else ratio)
    return {"input": m.values(shape)}, {"type": target}


# --- numbers in few steps ---


def quantized(m, shape, dtype):
    """Over all that the type holds; of 32 bits less, where sums of floats would lose."""
    stored = QUANTIZED[dtype]
    limits = np.iinfo(stored)
    low, high = limits.min, limits.max
    return dtype, m.rng.integers(low, high, shape, endpoint=True).astype(stored)


def bounds(m, shape=()):
    low = -float(m.rng.integers(0, 5)) if m.one_in(3) else float(m.rng.uniform(-4, 1))
    high = low + float(m.choice([0.0, 0.001, 1.0, 3.5])) - (4.0 if m.one_in(12) else 0.0)
    return [("float32", np.full(shape, each, "float32")) for each in (low, high)]


def quantize(m):
    mode = m.choice(MODES)
    rank = int(m.rng.integers(1, 4))
    shape = m.shape(ranks=(rank,), least=1)
    axis = int(m.rng.integers(0, rank)) if m.one_in(3) else -1
    of_axis = () if axis == -1 else (shape[axis] + int(m.one_in(12)),)
    low, high = bounds(m, of_axis)
    even = mode == "SCALED" and flag(m) or m.one_in(12)
    attrs = {
        "T": m.dtype,
        "mode": mode,
        "round_mode": "HALF_TO_EVEN" if even else "HALF_AWAY_FROM_ZERO",
        "narrow_range": bool(m.one_in(3)),
        "axis": axis,
        "ensure_minimum_range": float(m.choice([0.01, 0.0, 1.0])),
    }
    given = m.values(shape, -5, 5, "float32")
    if m.dtype == "qint32":
        # Beyond the range floats become numbers that 32 bits can't hold.
        low, high = (("float32", np.full(of_axis, end, "float32")) for end in (-8.0, 8.0))
    return {"input": given, "min_range": low, "max_range": high}, attrs


def dequantize(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    axis = int(m.rng.integers(0, len(shape))) if m.one_in(3) else -1
    of_axis = () if axis == -1 else (shape[axis] + int(m.one_in(12)),)
    low, high = bounds(m, of_axis)
    given = quantized(m, shape, m.dtype)
    return {"input": given, "min_range": low, "max_range": high}, {
        "mode": m.choice(MODES),
        "narrow_range": bool(m.one_in(3)),
        "axis": axis,
        "dtype": m.choice(["float32", "float32", "bfloat16"]),
    }


def around(m, names, shape=()):
    """Bounds of what is quantized, low below zero and high above it."""
    low, high = m.values(shape, -3, 0), m.values(shape, 0.5, 3)
    if m.one_in(12):
        low, high = high, low
    return dict(zip(names, (low, high)))


def rounded_twice(has_bits=False, has_round=False):
    def make(m):
        shape = m.shape(ranks=(1, 2, 3), least=1)
        axis = int(m.rng.integers(0, len(shape))) if m.one_in(3) else -1
        inputs = {
            "input": m.values(shape),
            **around(m, ("input_min", "input_max"), () if axis == -1 else (shape[axis],)),
        }
        attrs = {"signed_input": flag(m), "range_given": flag(m), "narrow_range": flag(m)}
        bits = int(m.choice([2, 4, 8, 0]) if m.one_in(12) else m.choice([2, 4, 8]))
        if has_bits:
            inputs["num_bits"] = m.integers(bits)
        else:
            attrs["num_bits"] = bits
        if has_round:
            attrs["round_mode"] = m.choice(["HALF_TO_EVEN", "HALF_UP"])
        return inputs, {**attrs, "axis": axis}

    return make


def rounded_twice_grad(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    axis = int(m.rng.integers(0, len(shape))) if m.one_in(3) else -1
    return {
        "gradients": m.values((*shape, 1) if m.one_in(12) else shape),
        "input": m.values(shape),
        **around(m, ("input_min", "input_max"), () if axis == -1 else (shape[axis],)),
    }, {"axis": axis}


def few_bits(m):
    return {"num_bits": int(m.choice([2, 4, 8, 16])), "narrow_range": flag(m)}


def fake_vars(m):
    return {"inputs": m.values(), **around(m, ("min", "max"))}, few_bits(m)


def fake_channels(m):
    shape = m.shape(ranks=(1, 2, 4), least=1)
    channels = shape[-1] + int(m.one_in(12))
    return {"inputs": m.values(shape), **around(m, ("min", "max"), (channels,))}, few_bits(m)


def fake_args_grad(m):
    shape = m.shape()
    inputs = {"gradients": m.values(shape), "inputs": m.values(shape)}
    low, high = m.choice([(-2.0, 2.5), (0.1, 3.0), (-6.0, -1.0), (-1.0, 1.0)])
    if m.one_in(12):
        low, high = m.choice([(1.0, -1.0), (0.0, 0.0)])
    return inputs, {"min": low, "max": high, **few_bits(m)}


def fake_vars_grad(m):
    shape = m.shape()
    other = (*shape, 1) if m.one_in(12) else shape
    inputs = {"gradients": m.values(shape), "inputs": m.values(other)}
    return {**inputs, **around(m, ("min", "max"))}, few_bits(m)


def fake_channels_grad(m):
    shape = m.shape(ranks=(1, 2, 4), least=1)
    inputs = {"gradients": m.values(shape), "inputs": m.values(shape)}
    channels = shape[-1] + int(m.one_in(12))
    return {**inputs, **around(m, ("min", "max"), (channels,))}, few_bits(m)


def requantized(m, shape=None):
    """Sums of products of quantized numbers, and the range that all of their type stands for."""
    shape = m.shape(ranks=(0, 1, 2), least=1) if shape is None else shape
    high = int(m.choice([100, 10**6, 2**31 - 1]))
    values = m.rng.integers(-high, high, shape).astype("int32")
    low, top = float(m.choice([-100.0, -1.0, 0.0])), float(m.choice([100.0, 2.0]))
    return {
        "input": ("qint32", values),
        "input_min": ("float32", np.float32(low)),
        "input_max": ("float32", np.float32(top)),
    }


def shrink(m):
    return requantized(m), {"out_type": "quint8"}


def requantize(m):
    low, high = bounds(m)
    asked = {"requested_output_min": low, "requested_output_max": high}
    return {**requantized(m), **asked}, {"out_type": m.choice(["quint8", "qint8"])}


def requantization_range(m):
    return requantized(m), {}


# --- what numbers are ---


def check_numerics(m):
    dtype, value = m.values()
    given = odd(m, dtype, value) if m.one_in(3) else (dtype, value)
    return {"tensor": given}, {"message": "here"}


def bucketize(m):
    boundaries = sorted(float(each) for each in m.rng.integers(-3, 4, m.choice([0, 1, 3, 5])))
    if m.one_in(8):
        boundaries = [2.0, *boundaries, -4.0]
    return {"input": m.values(low=-5, high=5)}, {"boundaries": boundaries}


def fingerprint(m):
    shape = m.shape(ranks=(1, 2, 3))
    if m.one_in(8):
        shape = ()
    method = b"md5" if m.one_in(12) else b"farmhash64"
    return {"data": m.values(shape), "method": ("string", np.array(method, object))}, {}


TABLE = [
    Row("Cast", CAST, cast, gradient=True),
    Row("Bitcast", list(SIZES), bitcast),
    Row("QuantizeV2", list(QUANTIZED), quantize),
    Row("Dequantize", list(QUANTIZED), dequantize),
    Row("QuantizeAndDequantizeV3", WIDE, rounded_twice(has_bits=True), gradient=True),
    Row("QuantizeAndDequantizeV4", WIDE, rounded_twice(has_round=True), gradient=True),
    Row("QuantizeAndDequantizeV4Grad", WIDE, rounded_twice_grad),
    Row("FakeQuantWithMinMaxVars", ["float32"], fake_vars, gradient=True),
    Row("FakeQuantWithMinMaxVarsPerChannel", ["float32"], fake_channels, gradient=True),
    Row("FakeQuantWithMinMaxArgsGradient", ["float32"], fake_args_grad),
    Row("FakeQuantWithMinMaxVarsGradient", ["float32"], fake_vars_grad),
    Row("FakeQuantWithMinMaxVarsPerChannelGradient", ["float32"], fake_channels_grad),
    Row("QuantizeDownAndShrinkRange", ["float32"], shrink),
    Row("Requantize", ["float32"], requantize),
    Row("RequantizationRange", ["float32"], requantization_range),
    *rows_of("CheckNumerics CheckNumericsV2", FLOATS, check_numerics, gradient=True),
    Row("Bucketize", ["int32", "int64", *WIDE], bucketize),
    Row("Fingerprint", [*ANY, *COMPLEX, "uint16"], fingerprint),
]

REASONS = {
    **{
        (
            op,
            "NotFoundError in TensorFlow",
        ): "it rewrites the op to one without a kernel for the type"
        for op in ("QuantizeV2", "Dequantize")
    },
    ("QuantizeAndDequantizeV4", "InvalidArgumentError in TensorFlow"): (
        "its kernel refuses the ranges that its shape function asks for, those of an axis"
    ),
}

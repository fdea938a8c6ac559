"""Rows of rows.py for pools: those told by inputs, with places, of fractions, and gradients of them and of these."""

import numpy as np

from cases import FLOATS, REAL, Row, rows_of
from convolution_cases import flag, out_dim, padding, per_dim


class Pool:
    def __init__(self, m, dims=2):
        self.sizes = [int(n) for n in m.rng.integers(3, 7, dims)]
        self.windows = [int(n) for n in m.rng.integers(1, 4, dims)]
        self.strides = [int(n) for n in m.rng.integers(1, 3, dims)]
        self.padding = padding(m)
        self.batch, self.depth = (int(n) for n in m.rng.integers(1, 3, 2))
        self.input = (self.batch, *self.sizes, self.depth)
        out = [out_dim(*each, self.padding) for each in zip(self.sizes, self.windows, self.strides)]
        self.output = (self.batch, *out, self.depth)

    def attrs(self):
        sizes = {"ksize": per_dim(self.windows, False), "strides": per_dim(self.strides, False)}
        return {**sizes, "padding": self.padding}

    def as_inputs(self, m):
        return {
            name: m.integers(sizes) for name, sizes in self.attrs().items() if name != "padding"
        }

    def largest(self, array):
        """What the pool of that makes."""
        low = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        ends = [
            max(0, (out - 1) * stride + window - size)
            for out, stride, window, size in zip(
                self.output[1:-1], self.strides, self.windows, self.sizes
            )
        ]
        before = [end // 2 if self.padding == "SAME" else 0 for end in ends]
        pads = [(0, 0), *zip(before, [end - b for end, b in zip(ends, before)]), (0, 0)]
        padded = np.pad(array, pads, constant_values=low)
        made = np.empty(self.output, array.dtype)
        for at in np.ndindex(*self.output[1:-1]):
            window = tuple(
                slice(a * s, a * s + w) for a, s, w in zip(at, self.strides, self.windows)
            )
            some = padded[(slice(None), *window)]
            made[(slice(None), *at)] = some.max(axis=tuple(range(1, some.ndim - 1)))
        return made


def distinct(m, shape):
    """Values of which no two are alike, lest the first largest be a matter of taste."""
    count = int(np.prod(shape))
    if m.dtype in ("int8", "uint8", "bfloat16", "float16") and count > 120:
        return m.values(shape)[1]
    array = m.rng.permutation(count).reshape(shape)
    return array.astype("float32" if m.dtype == "bfloat16" else m.dtype)


def of_average(dims):
    def make(m):
        of = Pool(m, dims)
        told = of.input[1:] if m.one_in(12) else of.input
        inputs = {"orig_input_shape": m.integers(told), "grad": m.values(of.output)}
        return inputs, of.attrs()

    return make


def of_largest(m, dims, last):
    """What the pool took and made, and a gradient of `last`."""
    of = Pool(m, dims)
    array = distinct(m, of.input)
    inputs = {"orig_input": (m.dtype, array), "orig_output": (m.dtype, of.largest(array))}
    shape = of.input if last == "input" else of.output
    if m.one_in(12):
        shape = (*shape[:-1], shape[-1] + 1)
    return of, {**inputs, "grad": m.values(shape)}


def first_gradient(dims):
    def make(m):
        of, inputs = of_largest(m, dims, "output")
        return inputs, of.attrs()

    return make


def second_gradient(dims):
    def make(m):
        of, inputs = of_largest(m, dims, "input")
        return inputs, of.attrs()

    return make


def told_by_inputs(last):
    def make(m):
        of, inputs = of_largest(m, 2, last)
        return {**inputs, **of.as_inputs(m)}, {"padding": of.padding}

    return make


def pool_by_inputs(m):
    of = Pool(m)
    inputs = {"input": m.values(of.input), **of.as_inputs(m)}
    if m.one_in(12):
        inputs["ksize"] = m.integers([1, 2, 2])
    return inputs, {"padding": of.padding}


def pool_with_places(m):
    of = Pool(m)
    attrs = {"include_batch_in_index": flag(m), "Targmax": m.choice(["int32", "int64"])}
    return {"input": (m.dtype, distinct(m, of.input))}, {**of.attrs(), **attrs}


def by_places(m):
    of = Pool(m)
    in_batch = flag(m)
    image = int(np.prod(of.input[1:]))
    places = m.rng.integers(0, image, of.output)
    if in_batch:
        places += image * np.arange(of.batch).reshape(-1, 1, 1, 1)
    # Places outside end TensorFlow's process.
    grown = (*of.output[:-1], of.depth + 1) if m.one_in(12) else of.output
    inputs = {"input": m.values(of.input), "grad": m.values(grown)}
    inputs["argmax"] = m.integers(places, "int64")
    return inputs, {**of.attrs(), "include_batch_in_index": in_batch}


# --- fractional pools ---


def fractional(m):
    shape = tuple(int(n) for n in m.rng.integers((1, 4, 4, 1), (3, 10, 10, 3)))
    ratios = [1.0, *(float(m.choice([1.0, 1.4, 1.73, 2.0])) for _ in range(2)), 1.0]
    if m.one_in(10):
        ratios = m.choice([[1.0, 0.5, 1.5, 1.0], [1.0, 1.5, 1.5]])
    attrs = {"pooling_ratio": ratios, "pseudo_random": flag(m), "overlapping": flag(m)}
    # Without `deterministic` no seed tells which.
    attrs.update(deterministic=True, seed=int(m.rng.integers(1, 99)), seed2=int(m.rng.integers(99)))
    return {"value": m.values(shape, -90, 90)}, attrs


def cuts(m, dim):
    """Where pieces of a length begin and end."""
    inner = np.sort(m.rng.permutation(np.arange(1, dim))[: m.rng.integers(0, dim)])
    return np.asarray([0, *inner, dim], "int64")


def fractional_gradient(m):
    shape = tuple(int(n) for n in m.rng.integers((1, 3, 3, 1), (3, 7, 7, 3)))
    rows, columns = cuts(m, shape[1]), cuts(m, shape[2])
    output = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
    if m.one_in(12):
        rows = rows - 1
    sequences = {
        "row_pooling_sequence": ("int64", rows),
        "col_pooling_sequence": ("int64", columns),
    }
    return shape, output, sequences


def of_fractional_average(m):
    shape, output, sequences = fractional_gradient(m)
    inputs = {
        "orig_input_tensor_shape": m.integers(shape, "int64"),
        "out_backprop": m.values(output),
    }
    return {**inputs, **sequences}, {"overlapping": flag(m)}


def of_fractional_largest(m):
    shape, output, sequences = fractional_gradient(m)
    overlapping = flag(m)
    array = distinct(m, shape)
    rows, columns = (np.maximum(each[1], 0) for each in sequences.values())
    more = 1 if overlapping else 0
    made = np.empty(output, array.dtype)
    for y, x in np.ndindex(*output[1:3]):
        part = array[:, rows[y] : rows[y + 1] + more, columns[x] : columns[x + 1] + more]
        made[:, y, x] = part.max(axis=(1, 2)) if part.size else 0
    inputs = {"orig_input": (m.dtype, array), "orig_output": (m.dtype, made)}
    return {**inputs, "out_backprop": m.values(output), **sequences}, {"overlapping": overlapping}


POOLED = [each for each in REAL if each not in ("uint32", "uint64")]
SOME = ["float32", "float64", "int32", "int64"]

TABLE = [
    Row("AvgPoolGrad", FLOATS, of_average(2), True),
    Row("AvgPool3DGrad", FLOATS, of_average(3), True),
    Row("MaxPoolGrad", REAL, first_gradient(2), True),
    Row("MaxPool3DGrad", FLOATS, first_gradient(3), True),
    Row("MaxPoolGradGrad", REAL, second_gradient(2), True),
    Row("MaxPool3DGradGrad", ["float32", "bfloat16"], second_gradient(3), True),
    Row("MaxPoolV2", POOLED, pool_by_inputs, True),
    Row("MaxPoolGradV2", REAL, told_by_inputs("output"), True),
    Row("MaxPoolGradGradV2", REAL, told_by_inputs("input"), True),
    Row("MaxPoolWithArgmax", REAL, pool_with_places, True),
    Row("MaxPoolGradWithArgmax", REAL, by_places),
    *rows_of("FractionalAvgPool FractionalMaxPool", SOME, fractional, gradient=True),
    Row("FractionalAvgPoolGrad", SOME, of_fractional_average),
    Row("FractionalMaxPoolGrad", SOME, of_fractional_largest),
]

REASONS = {
    ("FractionalMaxPoolGrad", "InvalidArgumentError in TensorFlow, values here"): (
        "it counts the cuts of rows times those of columns, which may be more than there are "
        "elements where nearly every element is a window"
    ),
}

REASONS[
    "FractionalMaxPoolGrad", "values in TensorFlow, InvalidArgumentError here"
] = "it takes cuts that lie in front of the images"

UNCOMPARED = {"MaxPoolGradGradWithArgmax": "TensorFlow has no kernel for it on CPUs"}

"""Rows of rows.py for what layers are made of: normalisations, slopes, ranks, formats and requantizing."""

import numpy as np

from cases import FLOATS, NUMBERS, REAL, Row, rows_of

FORMATS = ["NHWC", "NCHW", "NDHWC", "NCDHW"]
NARROW = ["float32", "float16", "bfloat16"]


def flag(m):
    return bool(m.one_in(2))


# --- normalisations ---


def by_channel(m, data_format):
    """(shape, channels) of a batch of that format."""
    dims = [int(n) for n in m.rng.integers(1, 5, len(data_format) - 2)]
    batch, channels = (int(n) for n in m.rng.integers(1, 4, 2))
    if m.one_in(16):
        batch = 0
    first = data_format[1] == "C"
    return ((batch, channels, *dims) if first else (batch, *dims, channels)), channels


def statistics(m, channels, names):
    """Of each channel, with variances that are above zero."""
    kept = "float32"
    made = {name: m.values((channels,), -2, 2, kept) for name in names}
    for name in names:
        if "var" in name:
            made[name] = m.values((channels,), 0.3, 2, kept)
    return made


def normalize(some=FORMATS):
    def make(m):
        data_format, training = m.choice(some), flag(m)
        shape, channels = by_channel(m, data_format)
        names = ("scale", "offset", "mean", "variance")
        made = statistics(m, channels, names)
        factor = m.choice([1.0, 1.0, 0.5])
        if training and factor == 1.0:
            made["mean"] = made["variance"] = ("float32", np.zeros(0, "float32"))
        if m.one_in(12):
            made["offset"] = m.values((channels + 1,), dtype="float32")
        attrs = {"epsilon": m.choice([1e-3, 0.1]), "exponential_avg_factor": factor}
        attrs.update(data_format=data_format, is_training=training)
        return {"x": m.values(shape), **made}, attrs

    return make


def own_statistics(x, data_format):
    """Mean and variance of x, of which TensorFlow's second gradient takes them to be."""
    axes = tuple(i for i, axis in enumerate(data_format) if axis != "C")
    if not x.size:
        return {}
    moments = (x.mean(axes, "float64"), x.var(axes, "float64"))
    return {
        f"reserve_space_{i}": ("float32", made.astype("float32"))
        for i, made in enumerate(moments, 1)
    }


def unnormalize(third, some=FORMATS):
    def make(m):
        data_format, training = m.choice(some), flag(m)
        shape, channels = by_channel(m, data_format)
        kept = {
            "scale": m.values((channels,), dtype="float32"),
            "reserve_space_1": m.values((channels,), dtype="float32"),
            "reserve_space_2": m.values((channels,), 0.3, 2, "float32"),
        }
        if m.one_in(12):
            kept["scale"] = m.values((channels + 1,), dtype="float32")
        if third:
            kept["reserve_space_3"] = m.values((channels,), dtype="float32")
        inputs = {"y_backprop": m.values(shape), "x": m.values(shape), **kept}
        if training:
            inputs.update(own_statistics(inputs["x"][1], data_format))
        attrs = {"epsilon": m.choice([1e-3, 0.1]), "data_format": data_format}
        return inputs, {**attrs, "is_training": training}

    return make


def globally(m):
    shape = tuple(int(n) for n in m.rng.integers(1, 4, 4))
    depth = shape[3] + (1 if m.one_in(12) else 0)
    inputs = {"t": m.values(shape), "m": m.values((shape[3],)), "v": m.values((depth,), 0.3, 2)}
    attrs = {"variance_epsilon": m.choice([1e-3, 0.1]), "scale_after_normalization": flag(m)}
    return inputs, attrs, shape


def normalize_globally(m):
    inputs, attrs, shape = globally(m)
    given = {"beta": m.values((shape[3],)), "gamma": m.values((shape[3],))}
    return {**inputs, **given}, attrs


def unnormalize_globally(m):
    inputs, attrs, shape = globally(m)
    return {**inputs, "gamma": m.values((shape[3],)), "backprop": m.values(shape)}, attrs


def local_responses(m):
    shape = tuple(int(n) for n in m.rng.integers(1, 6, 4))
    attrs = {"depth_radius": int(m.rng.integers(0, 4)), "bias": m.choice([1.0, 2.0])}
    attrs.update(alpha=m.choice([0.1, 0.5, 1.0]), beta=m.choice([0.5, 0.75, 1.0]))
    names = ("input_grads", "input_image", "output_image")
    inputs = {name: m.values(shape) for name in names}
    if m.one_in(10):
        inputs["input_grads"] = m.values((*shape[:3], shape[3] + 1))
    return inputs, attrs


# --- slopes and biases ---


def slope(first, second, low=-3, high=8):
    def make(m):
        shape = m.shape()
        other = (*shape, 2) if m.one_in(10) else shape
        return {first: m.values(shape, low, high), second: m.values(other, low, high)}, {}

    return make


def leaky_slope(m):
    inputs, _ = slope("gradients", "features")(m)
    return inputs, {"alpha": m.choice([0.0, 0.1, 0.5, 2.0])}


def bias_gradient(m):
    shape = m.shape(ranks=(2, 3, 4, 5), most=3)
    if m.one_in(12):
        shape = shape[:1]
    return {"out_backprop": m.values(shape)}, {"data_format": m.choice(["NHWC", "NCHW"])}


def old_bias(m):
    shape = m.shape(ranks=(2, 3, 4), least=1)
    number = shape[-1] + (1 if m.one_in(8) else 0)
    return {"value": m.values(shape), "bias": m.values((number,))}, {}


# --- ranks ---


def in_top(m):
    rows, classes = (int(n) for n in m.rng.integers(1, 6, 2))
    dtype, predictions = m.values((rows, classes), dtype="float32")
    if m.one_in(4):
        predictions = np.round(predictions)  # some alike
    if m.one_in(8):
        predictions.ravel()[0] = m.choice([np.nan, np.inf, -np.inf])
    # Those out of range are in no top.
    targets = m.rng.integers(-1, classes + 1, rows + (1 if m.one_in(12) else 0))
    inputs = {"predictions": (dtype, predictions), "targets": m.integers(targets, m.dtype)}
    return inputs, {"k": int(m.rng.integers(0, 5))}


def nth(m):
    shape = m.shape(ranks=(1, 2, 3), least=1)
    n = int(m.rng.integers(-1, shape[-1] + 1)) if m.one_in(6) else int(m.rng.integers(shape[-1]))
    return {"input": m.values(shape, -90, 90), "n": m.integers(n)}, {"reverse": flag(m)}


def about_top(m):
    shape = m.shape(ranks=(1, 2), most=9, least=1)
    # TensorFlow's other kernels are of other devices.
    k = int(m.rng.integers(1, shape[-1] + 1)) + (9 if m.one_in(10) else 0)
    attrs = {"k": k, "reduction_dimension": -1, "is_max_k": True}
    array = m.rng.permutation(int(np.prod(shape))).reshape(shape)
    return {"input": (m.dtype, array.astype("float32"))}, attrs


# --- formats ---


def two_formats(m):
    one = m.choice(FORMATS)
    other = "".join(m.rng.permutation(list(one)))
    if m.one_in(10):
        other = m.choice(["NHWX", "NH", "NHWCD"])
    return {"src_format": one, "dst_format": other}


def mapped_dims(m):
    attrs = two_formats(m)
    rank = len(attrs["src_format"])
    reach = rank + (2 if m.one_in(10) else 0)
    return {"x": m.integers(m.rng.integers(-reach, reach, m.shape()), m.dtype)}, attrs


def permuted(m):
    attrs = two_formats(m)
    rank = len(attrs["src_format"])
    length = m.choice([rank, rank, rank - 2, rank + (1 if m.one_in(4) else 0)])
    shape = m.choice([(length,), (length, 2)])
    return {"x": m.integers(m.rng.integers(0, 9, shape), m.dtype)}, attrs


# --- requantizing ---


def scalar(value):
    return "float32", np.asarray(value, "float32")


def quantized(m):
    """Numbers of 32 bits that stand for a range, which is all of them or few."""
    most = m.choice([100, 1 << 20, (1 << 31) - 1])
    low, high = m.choice([(-1.0, 1.0), (0.0, 6.0), (-300.0, 20.0), (-4.0, 0.0), (0.0, 0.0)])
    if m.one_in(10):
        low, high = high + 1, low
    array = m.rng.integers(-most, most, m.shape(ranks=(0, 1, 2)))
    return {
        "input": ("qint32", array.astype("int32")),
        "input_min": scalar(low),
        "input_max": scalar(high),
    }


def used_range(m):
    return quantized(m), {}


def shrunk(m):
    return quantized(m), {"out_type": "quint8"}


def requantized(m):
    inputs = quantized(m)
    low, high = m.choice([(-1.0, 1.0), (0.0, 6.0), (-0.3, 20.0), (1.0, 2.0), (0.0, 0.0)])
    if m.one_in(10):
        low, high = high + 1, low
    wanted = {"requested_output_min": scalar(low), "requested_output_max": scalar(high)}
    return {**inputs, **wanted}, {"out_type": m.choice(["quint8", "qint8"])}


TABLE = [
    Row("FusedBatchNorm", ["float32"], normalize(FORMATS[:2]), True, 10),
    Row("FusedBatchNormV2", NARROW, normalize(FORMATS[:2]), True, 10),
    Row("FusedBatchNormV3", NARROW, normalize(), True, 10),
    Row("FusedBatchNormGrad", ["float32"], unnormalize(False, FORMATS[:2]), False, 10),
    Row("FusedBatchNormGradV2", NARROW, unnormalize(False, FORMATS[:2]), False, 10),
    Row("FusedBatchNormGradV3", NARROW, unnormalize(True), True, 10),
    Row("BatchNormWithGlobalNormalization", FLOATS, normalize_globally, True, 10),
    Row("BatchNormWithGlobalNormalizationGrad", FLOATS, unnormalize_globally, False, 10),
    Row("LRNGrad", NARROW, local_responses, False, 10),
    Row("Relu6Grad", REAL, slope("gradients", "features"), True),
    Row("LeakyReluGrad", FLOATS, leaky_slope, True),
    Row("SeluGrad", FLOATS, slope("gradients", "outputs"), True),
    Row("SoftsignGrad", FLOATS, slope("gradients", "features")),
    Row("BiasAddGrad", NUMBERS, bias_gradient, True),
    Row("BiasAddV1", NUMBERS, old_bias, True),
    Row("InTopK", ["int32", "int64"], in_top),
    Row("NthElement", REAL, nth, True),
    Row("ApproxTopK", NARROW, about_top),
    *rows_of("DataFormatDimMap", ["int32", "int64"], mapped_dims),
    *rows_of("DataFormatVecPermute", ["int32", "int64"], permuted),
    Row("RequantizationRange", ["qint32"], used_range),
    Row("QuantizeDownAndShrinkRange", ["qint32"], shrunk),
    Row("Requantize", ["qint32"], requantized),
]

_OWN = (
    "what it keeps for its gradient is its own: which shape it has depends on the library it asks"
)

REASONS = {
    **{("FusedBatchNormV3", f"output {i}:"): _OWN for i in (3, 4, 5)},
    ("FusedBatchNormGradV3", "InvalidArgumentError in TensorFlow, values here"): (
        "it takes channels that come first for some types and ranks only"
    ),
    **{
        (f"FusedBatchNormGrad{version}", f"output {i}:"): _OWN
        for version in ("", "V2", "V3")
        for i in (3, 4)
    },
}

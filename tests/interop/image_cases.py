"""Rows of rows.py for ops of images, patches, boxes, clusters and points, and of products of mixed types."""

import numpy as np

WIDE = ["float32", "float64"]
HALVES = ["float32", "float16"]
PROJECTED = ["uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
PIXELS = ["float32", "float64", "float16", "uint8", "int8", "int16", "int32", "int64"]
FILTERS = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()


def flag(m):
    return bool(m.one_in(2))


def scalar(value, dtype="float32"):
    return dtype, np.asarray(value, dtype)


def images(m, low=0, high=100):
    shape = tuple(int(n) for n in m.rng.integers((1, 1, 1, 1), (3, 7, 7, 4)))
    return m.values(shape, low, high)


def pair(m, low, high):
    return "float32", m.rng.uniform(low, high, 2).astype("float32")


def scale_and_translate(m):
    rows, columns = (int(n) for n in m.rng.integers(1, 9, 2))
    scale = pair(m, 0.3, 3)
    if m.one_in(8):
        scale = scalar([0, 1])
    inputs = {
        "images": images(m),
        "size": m.integers([rows, columns]),
        "scale": scale,
        "translation": pair(m, -2, 2),
    }
    return inputs, {"kernel_type": m.choice(FILTERS), "antialias": flag(m)}


def project(m):
    of = images(m)
    many = of[1].shape[0] if flag(m) else 1
    columns = 7 if m.one_in(8) else 8
    transforms = np.zeros((many, columns))
    transforms[:, [0, 4]] = 1
    # Multiples of an eighth, lest a place lies so near a border that rounding decides.
    transforms += m.rng.integers(-8, 9, transforms.shape) / 8
    transforms[:, 6:] /= 16
    inputs = {
        "images": of,
        "transforms": ("float32", transforms.astype("float32")),
        "output_shape": m.integers(m.rng.integers(1, 7, 2)),
    }
    attrs = {"interpolation": m.choice(["NEAREST", "BILINEAR"])}
    attrs["fill_mode"] = m.choice(["CONSTANT", "REFLECT", "WRAP", "NEAREST"])
    return inputs, attrs


def project_and_fill(m):
    inputs, attrs = project(m)
    return {**inputs, "fill_value": scalar(m.rng.integers(0, 9))}, attrs


def boxes(m, number):
    corners = np.sort(m.rng.uniform(0, 1, (number, 2, 2)), axis=1).reshape(number, 4)
    return m.dtype, corners.astype(m.dtype)


def suppress_softly(m):
    number = int(m.rng.integers(1, 9))
    inputs = {
        "boxes": boxes(m, number),
        "scores": (m.dtype, m.rng.uniform(0, 1, number).astype(m.dtype)),
        "max_output_size": m.integers(m.rng.integers(0, 9)),
        "iou_threshold": scalar(2 if m.one_in(8) else m.rng.uniform(0, 0.5), m.dtype),
        "score_threshold": scalar(m.rng.uniform(0, 0.3), m.dtype),
        "soft_nms_sigma": scalar(m.choice([0, 0.25, 0.5]), m.dtype),
    }
    return inputs, {"pad_to_max_output_size": flag(m)}


def suppress_by_overlaps(m):
    number = int(m.rng.integers(1, 9))
    table = m.rng.uniform(0, 1, (number, number + (1 if m.one_in(8) else 0)))
    inputs = {
        "overlaps": ("float32", table.astype("float32")),
        "scores": ("float32", m.rng.uniform(0, 1, number).astype("float32")),
        "max_output_size": m.integers(m.rng.integers(0, 9)),
        "overlap_threshold": scalar(0.5),
        "score_threshold": scalar(0.2),
    }
    return inputs, {}


def suppress_combined(m):
    many, number, classes = (int(n) for n in m.rng.integers(1, 4, 3))
    own = m.choice([1, classes]) + (3 if m.one_in(8) else 0)
    corners = boxes(m, many * number * own)[1].reshape(many, number, own, 4) * 1.5 - 0.25
    inputs = {
        "boxes": ("float32", corners.astype("float32")),
        "scores": ("float32", m.rng.uniform(0, 1, (many, number, classes)).astype("float32")),
        "max_output_size_per_class": m.integers(m.rng.integers(1, 4)),
        "max_total_size": m.integers(m.rng.integers(1, 7)),
        "iou_threshold": scalar(0.3),
        "score_threshold": scalar(0.2),
    }
    return inputs, {"pad_per_class": flag(m), "clip_boxes": flag(m)}


def volume_patches(m):
    shape = tuple(int(n) for n in m.rng.integers((1, 1, 1, 1, 1), (3, 5, 5, 5, 3)))
    sizes = [1, *(int(n) for n in m.rng.integers(1, 4, 3)), 1]
    strides = [1, *(int(n) for n in m.rng.integers(1, 4, 3)), 1]
    fits = all(dim >= size for dim, size in zip(shape[1:4], sizes[1:4]))
    attrs = {"ksizes": sizes, "strides": strides}
    attrs["padding"] = m.choice(["SAME", "VALID"]) if fits else "SAME"
    return {"input": m.values(shape)}, attrs


def conjugate_transpose(m):
    shape = m.shape(ranks=(1, 2, 3))
    return {"x": m.values(shape), "perm": m.integers(m.rng.permutation(len(shape)))}, {}


def mixed_product(m):
    rows, inner, columns = (int(n) for n in m.rng.integers(1, 5, 3))
    x, y = m.choice([((2,), (2,)), ((), (2,)), ((2, 1), (3,)), ((2,), ())])
    turned = {"adj_x": flag(m), "adj_y": flag(m)}
    a = (inner, rows) if turned["adj_x"] else (rows, inner)
    b = (columns, inner) if turned["adj_y"] else (inner, columns)
    inputs = {"x": m.values((*x, *a)), "y": m.values((*y, *b))}
    return inputs, {**turned, "Tout": m.dtype}


def sobol(m):
    # TensorFlow has more dimensions.
    inputs = {
        "dim": scalar(0 if m.one_in(8) else m.choice([1, 3, 40, 1111, 2560]), "int32"),
        "num_results": scalar(m.rng.integers(1, 20), "int32"),
        "skip": scalar(m.choice([0, 1, 17, 1000000]), "int32"),
    }
    return inputs, {"dtype": m.dtype}


def isotonic(m):
    wide = "float64" if m.dtype in ("int32", "int64", "float64") else "float32"
    return {"input": m.values(m.shape(ranks=(1, 2, 3), most=7))}, {"output_dtype": wide}


def chain(m):
    distances = "float32", m.rng.uniform(0, 9, m.rng.integers(1, 30)).astype("float32")
    return {"distances": distances, "seed": scalar(m.rng.integers(0, 99), "int64")}, {}


def seeding(m):
    points = m.values((int(m.rng.integers(3, 20)), 2), -9, 9)
    inputs = {
        "points": points,
        "num_to_sample": scalar(m.rng.integers(0 if m.one_in(8) else 1, 4), "int64"),
        "seed": scalar(m.rng.integers(0, 99), "int64"),
        "num_retries_per_sample": scalar(m.rng.integers(-1, 3), "int64"),
    }
    return inputs, {}


def neighbors(m):
    dims = int(m.rng.integers(1, 5))
    inputs = {
        "points": m.values((int(m.rng.integers(1, 9)), dims), -9, 9),
        "centers": m.values((int(m.rng.integers(1, 9)), dims + (1 if m.one_in(8) else 0)), -9, 9),
        "k": scalar(m.rng.integers(0, 5), "int64"),
    }
    return inputs, {}


def bounds(m):
    mean = m.rng.uniform(-2, 2)
    low = mean + m.choice([-4, -1, -0.2, 1, 3, -np.inf])
    high = m.choice([np.inf, low + 2, low + 0.2]) if np.isfinite(low) else mean + m.choice([-3, 2])
    if m.one_in(8):
        low, high = high, low
    return [scalar(x, m.dtype) for x in (mean, m.rng.uniform(0.5, 2), low, high)]


def truncated(m):
    names = ("means", "stdevs", "minvals", "maxvals")
    inputs = {"shape": m.integers(m.shape(ranks=(1, 2), most=12, least=1))}
    return {**inputs, **dict(zip(names, bounds(m)))}, {"seed": 3, "seed2": int(m.rng.integers(99))}


def stateless_truncated(m):
    names = ("means", "stddevs", "minvals", "maxvals")
    inputs = {
        "shape": m.integers(m.shape(ranks=(1, 2), most=12, least=1)),
        "seed": m.integers(m.rng.integers(0, 1000, 2), "int64"),
    }
    return {**inputs, **dict(zip(names, bounds(m)))}, {}


TABLE = [
    ("BatchMatMulV3", [*WIDE, "float16", "int32", "complex64"], mixed_product, True),
    (
        "ConjugateTranspose",
        ["float32", "complex64", "complex128", "int32"],
        conjugate_transpose,
        True,
    ),
    ("ExtractVolumePatches", ["float32", "float64", "int32"], volume_patches),
    ("ScaleAndTranslate", PIXELS, scale_and_translate),
    ("ImageProjectiveTransformV2", PROJECTED, project, False, 10),
    ("ImageProjectiveTransformV3", PROJECTED, project_and_fill, False, 10),
    ("NonMaxSuppressionV5", HALVES, suppress_softly),
    ("NonMaxSuppressionWithOverlaps", ["float32"], suppress_by_overlaps),
    ("CombinedNonMaxSuppression", ["float32"], suppress_combined),
    ("SobolSample", WIDE, sobol),
    ("IsotonicRegression", ["float32", "float64", "int32", "int16"], isotonic, True),
    ("KMC2ChainInitialization", ["float32"], chain),
    ("KmeansPlusPlusInitialization", ["float32"], seeding),
    ("NearestNeighbors", ["float32"], neighbors, False, 10),
    ("ParameterizedTruncatedNormal", [*WIDE, "float16"], truncated),
    ("StatelessParameterizedTruncatedNormal", [*WIDE, "float16"], stateless_truncated, True, 50),
]

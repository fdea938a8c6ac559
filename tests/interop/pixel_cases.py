"""Rows of rows.py for sizes and colours of images, and for boxes and glimpses in them."""

import numpy as np

from cases import FLOATS, INTEGERS, REAL, Row, rows_of

# What resizes take.
SIZED = [each for each in REAL if each not in ("uint32", "uint64")]
AREAS = [[0.05, 1.0], [0.5, 0.6], [0.9, 1.0]]
HALVES = ["float32", "float16"]


def flag(m):
    return bool(m.one_in(2))


def scalar(value, dtype="float32"):
    return dtype, np.asarray(value, dtype)


def images(m, low=0, high=100, dtype=None):
    shape = tuple(int(n) for n in m.rng.integers((1, 1, 1, 1), (3, 7, 7, 4)))
    if m.one_in(16):
        shape = m.choice([(0, 2, 2, 1), (2, 0, 3, 1), (2, 2, 3)])
    return m.values(shape, low, high, dtype)


def size(m):
    if m.one_in(12):
        return m.integers(m.choice([[0, 2], [-1, 2], [3], [2, 2, 2]]))
    return m.integers(m.rng.integers(1, 10, 2))


def centers(m):
    """Both at once are refused."""
    both = m.choice([(False, False), (True, False), (False, True)])
    if m.one_in(12):
        both = (True, True)
    return dict(zip(("align_corners", "half_pixel_centers"), both))


def resize(m):
    return {"images": images(m), "size": size(m)}, centers(m)


def resize_by_area(m):
    return {"images": images(m), "size": size(m)}, {"align_corners": flag(m)}


def gradient_of_resize(m):
    dtype, array = images(m)
    shape = array.shape
    rows, columns = (int(n) for n in m.rng.integers(1, 10, 2))
    # Of other channels it takes those that it finds, if any.
    grown = (shape[0] + (1 if m.one_in(12) else 0), rows, columns, shape[-1])
    if m.one_in(16):
        grown = grown[1:]
    return {"grads": m.values(grown, dtype="float32"), "original_image": (dtype, array)}, centers(m)


def gradient_of_nearest(m):
    # Whole numbers that no type is too narrow for.
    return {"grads": images(m, 0, 4), "size": size(m)}, centers(m)


def gradient_of_scaling(m):
    filters = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()
    dtype, array = m.values(tuple(int(n) for n in m.rng.integers((1, 1, 1, 1), (3, 7, 7, 4))))
    rows, columns = (int(n) for n in m.rng.integers(1, 9, 2))
    grown = (array.shape[0], rows, columns, array.shape[3])
    inputs = {
        "grads": m.values(grown),
        "original_image": (dtype, array),
        "scale": ("float32", m.rng.uniform(0.3, 3, 2).astype("float32")),
        "translation": ("float32", m.rng.uniform(-2, 2, 2).astype("float32")),
    }
    return inputs, {"kernel_type": m.choice(filters), "antialias": flag(m)}


def colours(m, low=0, high=1):
    shape = (*m.shape(ranks=(1, 2, 2, 3)), 3)
    if m.one_in(10):
        shape = m.choice([(2, 4), (3,), (2, 2, 1), ()])
    dtype, array = m.values(shape, low, high)
    if m.one_in(4) and array.size:
        # Grey, black and two equal parts.
        array = np.round(array * 2) / 2
    return dtype, array.astype("float32" if dtype == "bfloat16" else dtype)


def adjust(name, low, high):
    def make(m):
        factor = m.values((1,) if m.one_in(10) else (), low, high, "float32")
        return {"images": colours(m), name: factor}, {}

    return make


def of_colours(m):
    return {"images": colours(m)}, {}


def corners(m, number, low=0.0, high=1.0):
    made = np.sort(m.rng.uniform(low, high, (number, 2, 2)), axis=1)
    if m.one_in(4):
        made = made[:, ::-1]  # turned round
    return made.reshape(number, 4)


def draw(m):
    depth = 2 if m.one_in(10) else m.choice([1, 3, 4])
    dtype, array = m.values((*(int(n) for n in m.rng.integers((1, 3, 3), (3, 9, 9))), depth))
    many, number = len(array), int(m.rng.integers(0, 4))
    boxes = [corners(m, number, -0.2, 1.2) for _ in range(many)]
    shape = (many + (1 if m.one_in(10) else 0), number, 4)
    made = np.resize(np.asarray(boxes, "float32"), shape)
    return {"images": (dtype, array), "boxes": ("float32", made)}, {}


def draw_in_colours(m):
    inputs, attrs = draw(m)
    depth = m.choice([inputs["images"][1].shape[3], 4, 4 if m.one_in(2) else 1])
    shape = (int(m.rng.integers(1 if m.one_in(8) else 2, 4)), depth)
    return {**inputs, "colors": m.values(shape, dtype="float32")}, attrs


def suppression(*thresholds):
    def make(m):
        number = 0 if m.one_in(10) else int(m.rng.integers(1, 9))
        boxes = m.dtype, corners(m, number).astype(m.dtype)
        many = number + (1 if m.one_in(10) else 0)
        inputs = {"boxes": boxes, "scores": (m.dtype, m.rng.uniform(0, 1, many).astype(m.dtype))}
        inputs["max_output_size"] = m.integers(m.rng.integers(-1 if m.one_in(8) else 0, 9))
        for name in thresholds:
            value = m.choice([-0.5, 1.5]) if m.one_in(12) else m.rng.uniform(0.1, 0.6)
            inputs[name] = scalar(value, m.dtype)
        return inputs, {}

    return make


def suppress(m):
    inputs, _ = suppression()(m)
    return inputs, {"iou_threshold": m.choice([0.0, 0.3, 0.5, 1.0, 1.5 if m.one_in(4) else 0.1])}


def suppress_and_pad(m):
    inputs, _ = suppression("iou_threshold", "score_threshold")(m)
    return inputs, {"pad_to_max_output_size": flag(m)}


def glimpse(m):
    many = int(m.rng.integers(1, 4))
    shape = (many, *(int(n) for n in m.rng.integers(1, 7, 2)), int(m.rng.integers(1, 3)))
    centered, normalized = flag(m), flag(m)
    reach = 1.5 if normalized else 4
    offsets = (many + (1 if m.one_in(10) else 0), 2)
    inputs = {
        "input": m.values(shape),
        "size": m.integers([0, 2] if m.one_in(10) else m.rng.integers(1, 7, 2)),
        "offsets": m.values(offsets, -reach, reach, "float32"),
    }
    # What lies outside is noise else, from a generator that no seed tells of.
    attrs = {"centered": centered, "normalized": normalized, "uniform_noise": False}
    return inputs, {**attrs, "noise": "zero"}


def distorted(with_least):
    def make(m):
        sizes = [int(n) for n in m.rng.integers(1, 100, 3)]
        if m.one_in(10):
            sizes = m.choice([[10, 10], [0, 5, 3], [5, 0, 3]])
        boxes = corners(m, int(m.rng.integers(0, 3)))
        if m.one_in(8):
            boxes = boxes + 0.5  # beyond the image
        least = m.choice([0.0, 0.1, 0.5, 1.0])
        attrs = {"seed": int(m.rng.integers(1, 99)), "seed2": int(m.rng.integers(99))}
        attrs["area_range"] = [0.0, 2.0] if m.one_in(16) else m.choice(AREAS)
        attrs["aspect_ratio_range"] = m.choice([[0.75, 1.33], [0.5, 2.0], [1.0, 1.0], [2.0, 1.0]])
        attrs["max_attempts"] = m.choice([1, 2, 100, 0 if m.one_in(4) else 10])
        attrs["use_image_if_no_bounding_boxes"] = flag(m)
        boxes = boxes.reshape(1, -1, 4).astype("float32")
        inputs = {"image_size": m.integers(sizes, m.dtype), "bounding_boxes": ("float32", boxes)}
        if with_least:
            inputs["min_object_covered"] = scalar(least)
        else:
            attrs["min_object_covered"] = least
        return inputs, attrs

    return make


TABLE = [
    *rows_of("ResizeBilinear ResizeBicubic", SIZED[:1], resize, gradient=True, tolerance=10),
    *rows_of("ResizeBilinear ResizeBicubic", SIZED[1:], resize, tolerance=10),
    Row("ResizeNearestNeighbor", SIZED, resize, gradient=True),
    Row("ResizeArea", SIZED, resize_by_area, tolerance=10),
    Row("ResizeBilinearGrad", ["float32", "float16", "bfloat16"], gradient_of_resize, tolerance=10),
    Row("ResizeBicubicGrad", ["float32"], gradient_of_resize, tolerance=10),
    # Weights are of 32 bits there, too.
    *rows_of(
        "ResizeBilinearGrad ResizeBicubicGrad", ["float64"], gradient_of_resize, tolerance=1e3
    ),
    Row("ResizeNearestNeighborGrad", [*FLOATS, "uint8", "int8", "int32"], gradient_of_nearest),
    Row("ScaleAndTranslateGrad", ["float32"], gradient_of_scaling, tolerance=10),
    Row("AdjustContrastv2", HALVES, adjust("contrast_factor", -1, 2)),
    Row("AdjustHue", HALVES, adjust("delta", -1, 1), tolerance=10),
    Row("AdjustSaturation", HALVES, adjust("scale", 0, 2), tolerance=10),
    Row("RGBToHSV", FLOATS, of_colours, gradient=True),
    Row("HSVToRGB", FLOATS, of_colours, gradient=True),
    Row("DrawBoundingBoxes", HALVES, draw),
    Row("DrawBoundingBoxesV2", HALVES, draw_in_colours),
    Row("NonMaxSuppression", ["float32"], suppress),
    Row("NonMaxSuppressionV2", HALVES, suppression("iou_threshold")),
    Row("NonMaxSuppressionV3", HALVES, suppression("iou_threshold", "score_threshold")),
    Row("NonMaxSuppressionV4", HALVES, suppress_and_pad),
    *rows_of("ExtractGlimpse ExtractGlimpseV2", ["float32"], glimpse),
    Row("SampleDistortedBoundingBox", [*INTEGERS[:4], "uint8"], distorted(False)),
    Row("SampleDistortedBoundingBoxV2", [*INTEGERS[:4], "uint8"], distorted(True)),
]

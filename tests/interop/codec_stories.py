"""Stories of rows.py of images that one op makes bytes of and others read, whole, cut off or spoilt."""

import numpy as np

from cases import StoryRow, stories_of

METHODS = ["", "INTEGER_FAST", "INTEGER_ACCURATE"]


def flag(t):
    return bool(t.one_in(2))


def text(value):
    made = np.empty((), object)
    made[()] = value
    return "string", made


def picture(t, channels, dtype="uint8"):
    """Smooth, as photos are, or noise."""
    height, width = (int(n) for n in t.rng.integers(1, 20, 2))
    high = np.iinfo(dtype).max
    if t.one_in(3):
        array = t.rng.integers(0, high + 1, (height, width, channels))
    else:
        slopes = t.rng.uniform(-1, 1, (2, channels)) * high / 20
        rows, columns = np.arange(height)[:, None, None], np.arange(width)[None, :, None]
        array = np.clip(high / 2 + rows * slopes[0] + columns * slopes[1], 0, high)
    return dtype, array.astype(dtype)


def spoilt(t, made):
    """Without its end, or with a piece of its beginning only, or nothing."""
    if t.one_in(3):
        end = t.choice([0, 1, 2, 3, 10, 50, 100, 300, 700])
        zero = ("int32", np.asarray(0, "int32"))
        return t.call("Substr", {"input": made, "pos": zero, "len": ("int32", np.int32(end))})
    if t.one_in(6):
        return t.call("StringJoin", {"inputs": [made, text(t.rng.bytes(5))]}, separator="")
    return made


def jpeg(t):
    """What EncodeJpeg makes."""
    channels = t.choice([1, 3, 3, 3])
    attrs = {"quality": t.choice([1, 30, 75, 95, 100]), "chroma_downsampling": flag(t)}
    attrs.update(progressive=flag(t), optimize_size=flag(t))
    attrs.update(density_unit=t.choice(["in", "cm"]), x_density=t.choice([1, 300]))
    if t.one_in(3):
        attrs["format"] = "grayscale" if (channels == 1) != t.one_in(6) else "rgb"
    if t.one_in(4):
        attrs["xmp_metadata"] = t.choice(["", "<x>y</x>"])
    if t.one_in(24):
        attrs["quality"] = t.choice([-1, 101])
    if t.one_in(24):
        channels = t.choice([2, 4])
    return t.call("EncodeJpeg", {"image": picture(t, channels)}, **attrs)


def read_jpeg(t, op):
    recovers = flag(t)
    # TensorFlow looks for ever for the rest of a header.
    made = jpeg(t) if recovers else spoilt(t, jpeg(t))
    attrs = {"channels": t.choice([0, 0, 1, 3]), "dct_method": t.choice(METHODS)}
    attrs.update(ratio=t.choice([1, 1, 2, 4, 8]), fancy_upscaling=flag(t))
    if t.one_in(8):
        attrs.update(t.choice([{"channels": 2}, {"channels": 4}, {"ratio": 3}]))
    attrs.update(try_recover_truncated=recovers, acceptable_fraction=t.choice([0.1, 0.5, 1.0]))
    t.call(op, {"contents": made}, **attrs)


def tell_shape(t):
    t.call(
        "ExtractJpegShape",
        {"contents": spoilt(t, jpeg(t))},
        output_type=t.choice(["int32", "int64"]),
    )


def png(t):
    channels = t.choice([1, 2, 3, 4]) if not t.one_in(10) else t.choice([0, 5])
    image = picture(t, channels, t.choice(["uint8", "uint16"]))
    return t.call("EncodePng", {"image": image}, compression=t.choice([-1, 0, 1, 9]))


def read_png(t):
    t.call(
        "DecodePng",
        {"contents": spoilt(t, png(t))},
        channels=2 if t.one_in(10) else t.choice([0, 0, 1, 3, 4]),
        dtype=t.choice(["uint8", "uint16"]),
    )


def read_by_another(t):
    """Any op of them reads what any other wrote."""
    made = t.choice([png, jpeg])(t)
    op = t.choice(["DecodePng", "DecodeJpeg", "DecodeBmp", "DecodeImage", "DecodeGif"])
    attrs = {} if op == "DecodeGif" else {"channels": t.choice([0, 0, 1, 3, 4])}
    if op in ("DecodePng", "DecodeImage"):
        attrs["dtype"] = t.choice(["uint8", "uint16", "float32"][: 2 if op == "DecodePng" else 3])
    if op == "DecodeImage":
        attrs["expand_animations"] = flag(t)
    t.call(op, {"contents": made}, **attrs)


TABLE = [
    StoryRow("EncodeJpeg", ["string"], lambda t: jpeg(t)),
    *stories_of("DecodeJpeg", ["string"], read_jpeg),
    StoryRow("ExtractJpegShape", ["string"], tell_shape),
    StoryRow("EncodePng", ["string"], lambda t: t.call("DecodePng", {"contents": png(t)})),
    StoryRow("DecodePng", ["string"], read_png),
    StoryRow("DecodeImage", ["string"], read_by_another),
]

REASONS = {
    (row.op, "EncodePng: output 0:"): (
        "its zlib packs in another way now and then; what is packed is what DecodePng finds"
    )
    for row in TABLE
}

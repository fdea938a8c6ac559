"""Programs with tables, strings, examples, samplers and images, the same text for TensorFlow and Millrace.

`python3 data_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what it gives.
Run by test_data_beside_tensorflow.py.
"""

import os
import tempfile

import numpy as np

from programs import print_results


def plain(value):
    """What JSON can hold: lists of numbers and texts."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def outcome(tf, session, fetch, *args):
    """The value, or the kind of error and its first words."""
    try:
        return plain(session.run(fetch, *args))
    except tf.errors.OpError as error:
        return type(error).__name__


def tables(tf, session):
    lookup = tf.lookup
    table = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], value_dtype=tf.int64), -1
    )
    keys = tf.constant(["b", "x"])
    before = outcome(tf, session, table.lookup(keys))
    session.run(tf.tables_initializer())
    results = {"before": before, "after": outcome(tf, session, [table.lookup(keys), table.size()])}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("good", "x\t1\ny\t2\n"), ("empty line", "x\t1\n\n"), ("short", "x\n")):
            file = os.path.join(folder, name.replace(" ", "_"))
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            init = lookup.TextFileInitializer(file, tf.string, 0, tf.int64, 1)
            from_file = lookup.StaticHashTable(init, -1)
            filled = outcome(tf, session, from_file.initializer)
            results[name] = [filled, outcome(tf, session, from_file.lookup(keys))]
    return results


def strings(tf, session):
    words = tf.constant(["Hello, World", "", " a b ", "x" * 70])
    many = 2**50
    fetches = {
        "buckets": tf.strings.to_hash_bucket(words, many),
        "fast": tf.strings.to_hash_bucket_fast(words, many),
        "strong": tf.strings.to_hash_bucket_strong(words, many, [7, 9]),
        "lower": tf.strings.lower(words),
        "upper": tf.strings.upper(words),
        "strip": tf.strings.strip(words),
        "replace": tf.strings.regex_replace(words, "([a-z])o", "<\\1>"),
        "match": tf.strings.regex_full_match(words, ".* .*"),
        "base64": tf.io.encode_base64(words) if hasattr(tf, "io") else tf.encode_base64(words),
        "join": tf.strings.reduce_join(tf.reshape(words, [2, 2]), 0, separator="|"),
        "segments": tf.strings.unsorted_segment_join(words, [1, 0, 1, 1], 3, separator="-"),
        "text": tf.strings.format("{} and {}", [tf.constant([[1.5, 1 / 3], [0, -2]]), words]),
    }
    return {name: outcome(tf, session, fetch) for name, fetch in fetches.items()}


def samplers(tf, session):
    classes = tf.constant([[0, 3], [5, 2]], tf.int64)
    tf.set_random_seed(11)
    common = {"true_classes": classes, "num_true": 2, "num_sampled": 5, "unique": True, "seed": 4}
    results = {}
    for name in ("log_uniform", "uniform", "learned_unigram"):
        for unique in (True, False):
            drawn = getattr(tf.nn, name + "_candidate_sampler")(
                **{**common, "unique": unique}, range_max=9
            )
            results[f"{name} {unique}"] = [outcome(tf, session, list(drawn)) for _ in range(3)]
    fixed = tf.nn.fixed_unigram_candidate_sampler(
        **common,
        range_max=9,
        unigrams=[1.0, 5.0, 2.0, 0.5, 1.5, 3.0, 1.0, 1.0, 4.0],
        distortion=0.7,
    )
    results["fixed"] = [outcome(tf, session, list(fixed)) for _ in range(3)]
    return results


def examples(tf, session):
    def message(**lists):
        kinds = {int: ("int64_list", "Int64List"), float: ("float_list", "FloatList")}
        made = {}
        for key, values in lists.items():
            field, kind = kinds.get(type(values[0]), ("bytes_list", "BytesList"))
            made[key] = tf.train.Feature(**{field: getattr(tf.train, kind)(value=values)})
        return tf.train.Example(features=tf.train.Features(feature=made))

    batch = [
        message(x=[1.0, 2.0], n=[1, -7], s=[b"a"]),
        message(x=[3.0, 4.0], n=[2**40]),
        message(x=[5.0, 6.0], s=[b"b", b"\xff"]),
    ]
    spec = {
        "x": tf.io.FixedLenFeature([2], tf.float32) if hasattr(tf, "io") else None,
        "s": tf.io.VarLenFeature(tf.string) if hasattr(tf, "io") else None,
    }
    if spec["x"] is None:
        spec = {"x": tf.FixedLenFeature([2], tf.float32), "s": tf.VarLenFeature(tf.string)}
    parse = tf.io.parse_example if hasattr(tf, "io") else tf.parse_example
    parsed = parse([each.SerializeToString() for each in batch], spec)
    broken = parse([b"\x0a\x7f"], {"x": spec["x"]})
    missing = parse([message(n=[1]).SerializeToString()], {"x": spec["x"]})
    decode = tf.io.decode_csv if hasattr(tf, "io") else tf.decode_csv
    return {
        "bytes": [len(each.SerializeToString()) for each in batch],
        "x": outcome(tf, session, parsed["x"]),
        "s": outcome(
            tf, session, [parsed["s"].indices, parsed["s"].values, parsed["s"].dense_shape]
        ),
        "broken": outcome(tf, session, broken["x"]),
        "missing": outcome(tf, session, missing["x"]),
        "csv": outcome(tf, session, decode(['1,"a,""b",', "2,c,3.5"], [[0], [""], [9.0]])),
    }


def images(tf, session):
    rng = np.random.default_rng(5)
    bytes_ = tf.constant(rng.integers(0, 256, [2, 5, 7, 3]).astype(np.uint8))
    floats = tf.constant(rng.uniform(size=[2, 5, 7, 3]).astype(np.float32))
    results = {}
    for method in ("BILINEAR", "NEAREST_NEIGHBOR", "BICUBIC", "AREA"):
        kind = getattr(tf.image.ResizeMethod, method)
        for size in ([3, 4], [10, 14], [5, 9], [1, 1]):
            for align in (False, True):
                made = tf.image.resize_images(bytes_, size, kind, align_corners=align)
                results[f"{method} {size} {align}"] = outcome(tf, session, made)
        if method != "AREA":
            made = tf.image.resize_images(floats, [8, 3], kind)
            grad = tf.gradients(made * made, floats)[0]
            results[f"gradient of {method}"] = outcome(tf, session, grad)
    image = tf.constant(rng.integers(0, 256, [5, 8, 3]).astype(np.uint8))
    smooth = np.add.outer(np.arange(24) * 4, np.arange(16) * 5)[:, :, None] + [0, 30, 60]
    jpeg = tf.image.encode_jpeg(tf.constant(smooth.astype(np.uint8)), quality=90)
    png = tf.image.encode_png(image)
    changes = {
        "jpeg": tf.image.decode_jpeg(jpeg),
        "gray jpeg": tf.image.decode_jpeg(jpeg, channels=1),
        "small jpeg": tf.image.decode_jpeg(jpeg, ratio=2),
        "png": tf.image.decode_png(png),
        "gray png": tf.image.decode_png(png, channels=1),
        "deep png": tf.image.decode_png(png, channels=4, dtype=tf.uint16),
        "hsv": tf.image.rgb_to_hsv(floats),
        "rgb": tf.image.hsv_to_rgb(floats),
        "hue": tf.image.adjust_hue(floats, 0.3),
        "saturation": tf.image.adjust_saturation(floats, 1.7),
        "contrast": tf.image.adjust_contrast(floats, 0.4),
        "contrast of bytes": tf.image.adjust_contrast(bytes_, 1.4),
        "brightness of bytes": tf.image.adjust_brightness(bytes_, 0.2),
        "gray": tf.image.rgb_to_grayscale(bytes_),
        "standard": tf.image.per_image_standardization(image),
        "crop or pad": tf.image.resize_image_with_crop_or_pad(image, 7, 4),
        "central": tf.image.central_crop(image, 0.5),
        "turned": tf.image.rot90(image, 3),
        "mirrored": tf.image.flip_left_right(image),
        "as floats": tf.image.convert_image_dtype(image, tf.float32),
        "as words": tf.image.convert_image_dtype(image, tf.int32),
        "as bytes": tf.image.convert_image_dtype(floats, tf.uint8),
    }
    corners = np.sort(rng.uniform(-0.1, 1.1, [12, 2, 2]), axis=1).reshape(12, 4).astype(np.float32)
    scores = rng.uniform(size=12).astype(np.float32)
    changes["drawn"] = tf.image.draw_bounding_boxes(floats, corners.reshape(2, 6, 4))
    for method in ("bilinear", "nearest"):
        changes["crops " + method] = tf.image.crop_and_resize(
            bytes_, corners, [0, 1] * 6, [4, 3], method=method, extrapolation_value=7
        )
    for limit in (0.1, 0.3, 0.7):
        changes[f"kept {limit}"] = tf.image.non_max_suppression(corners, scores, 8, limit, 0.2)
    results.update({name: outcome(tf, session, made) for name, made in changes.items()})
    return results


PROGRAMS = [tables, strings, samplers, examples, images]

if __name__ == "__main__":
    print_results(PROGRAMS)

"""Rows of rows.py for ops of whole models: sequences out of messages, crops, cells of recurrent nets."""

import numpy as np

FLOATS = ["float32", "float64", "float16", "bfloat16"]


# --- sequences: the bytes of tf.train.SequenceExample ---


def varint(number):
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(kind, values):
    if kind == "string":
        return field(1, b"".join(field(1, value) for value in values))
    if kind == "float32":
        return field(2, field(1, np.asarray(values, "<f4").tobytes()))
    return field(3, field(1, b"".join(varint(int(value)) for value in values)))


def drawn_feature(m, kind, most=3, size=None):
    count = int(m.rng.integers(0, most + 1)) if size is None else size
    if kind == "string":
        values = [bytes(each) for each in m.rng.choice([b"", b"a", b"bc"], count)]
    else:
        values = m.rng.integers(0, 300, count)
    return feature(kind, values)


def entries(of):
    return b"".join(field(1, field(1, key) + field(2, value)) for key, value in of.items())


def sequence(m, kinds):
    """A message with a context "c" and "d", lists "s" (of any lengths) and "t" (a value each)."""
    context, lists = {}, {}
    if not m.one_in(4):
        context[b"c"] = drawn_feature(m, kinds[0])
    if not m.one_in(12):
        context[b"d"] = drawn_feature(m, "float32", size=2)
    steps = int(m.rng.integers(0, 4))
    if not m.one_in(4):
        lists[b"s"] = b"".join(field(1, drawn_feature(m, kinds[1])) for _ in range(steps))
    if not m.one_in(12):
        sizes = [2 if m.one_in(30) else 1 for _ in range(steps)]
        lists[b"t"] = b"".join(field(1, drawn_feature(m, kinds[2], size=n)) for n in sizes)
    whole = field(1, entries(context)) + field(2, entries(lists))
    return whole[: m.rng.integers(len(whole))] if m.one_in(30) else whole


def sequences(m):
    """(serialized, names, types of "c", "s" and "t")."""
    kinds = [str(m.choice(["int64", "float32", "string"])) for _ in range(3)]
    batch = [sequence(m, kinds) for _ in range(int(m.rng.integers(1, 4)))]
    names = [b"name"] * (len(batch) + int(m.one_in(12)) if m.one_in(2) else 0)
    # One message alone has no places of rows; TensorFlow leaves their memory as it was.
    return texts(batch), texts(names), kinds


def texts(values):
    made = np.empty(len(values), object)
    made[:] = values
    return "string", made


def parsed(m):
    serialized, names, (c, s, t) = sequences(m)
    return {
        "serialized": serialized,
        "debug_name": names,
        "context_dense_defaults": [("float32", np.zeros(2 if m.one_in(2) else 0, "float32"))],
    }, {
        "feature_list_dense_missing_assumed_empty": ["t"] if m.one_in(2) else [],
        "context_sparse_keys": ["c"],
        "context_dense_keys": ["d"],
        "feature_list_sparse_keys": ["s"],
        "feature_list_dense_keys": ["t"],
        "Ncontext_sparse": 1,
        "Ncontext_dense": 1,
        "Nfeature_list_sparse": 1,
        "Nfeature_list_dense": 1,
        "context_sparse_types": [c],
        "context_dense_shapes": [[2]],
        "feature_list_sparse_types": [s],
        "feature_list_dense_types": [t],
        "feature_list_dense_shapes": [[]],
    }


def parsed_v2(m):
    given, attrs = parsed(m)
    c, s = attrs["context_sparse_types"], attrs["feature_list_sparse_types"]
    keys = {
        "context_sparse_keys": [],
        "context_dense_keys": [b"d"],
        "context_ragged_keys": [b"c"],
        "feature_list_sparse_keys": [],
        "feature_list_dense_keys": [b"t"],
        "feature_list_ragged_keys": [b"s"] if not m.one_in(20) else [],
    }
    missing = [bool(attrs["feature_list_dense_missing_assumed_empty"])]
    defaults = given.pop("context_dense_defaults")
    return {
        **given,
        **{name: texts(values) for name, values in keys.items()},
        "feature_list_dense_missing_assumed_empty": ("bool", np.array(missing)),
        "context_dense_defaults": defaults,
    }, {
        "Ncontext_sparse": 0,
        "Nfeature_list_sparse": 0,
        "Nfeature_list_dense": 1,
        "context_sparse_types": [],
        "context_ragged_value_types": c,
        "context_ragged_split_types": [str(m.choice(["int32", "int64"]))],
        "context_dense_shapes": [[2]],
        "feature_list_dense_types": attrs["feature_list_dense_types"],
        "feature_list_sparse_types": [],
        "feature_list_ragged_value_types": s,
        "feature_list_ragged_split_types": [str(m.choice(["int32", "int64"]))],
        "feature_list_dense_shapes": [[]],
    }


# --- segments and crops ---


def named_rows(m):
    segments, rows = (int(n) for n in m.rng.integers(1, 5, 2))
    count = int(m.rng.integers(0, 6))
    return {
        "grad": m.values((segments, 2)),
        "indices": m.indices((count,), rows + int(m.one_in(12))),
        "segment_ids": m.integers(np.sort(m.rng.integers(0, segments, count))),
        "dense_output_dim0": m.integers(rows),
    }, {}


def crop_arguments(m):
    batch, rows, columns, channels = (int(n) for n in m.rng.integers(1, 4, 4))
    number = int(m.rng.integers(1, 4))
    boxes = m.rng.uniform(-0.2, 1.2, (number, 4)).astype("float32")
    which = m.rng.integers(0, batch + int(m.one_in(20)), number)
    size = [int(n) for n in m.rng.integers(1, 5, 2)]
    return (batch, rows, columns, channels), ("float32", boxes), m.integers(which), size


def crop_and_resize(m):
    image, boxes, which, size = crop_arguments(m)
    return {
        "image": m.values(image),
        "boxes": boxes,
        "box_ind": which,
        "crop_size": m.integers(size),
    }, {"method": m.choice(["bilinear", "nearest"]), "extrapolation_value": 0.5}


def crop_gradient_of_image(m):
    image, boxes, which, size = crop_arguments(m)
    return {
        "grads": m.values((len(which[1]), *size, image[3]), dtype="float32"),
        "boxes": boxes,
        "box_ind": which,
        "image_size": m.integers(image),
    }, {"T": m.dtype, "method": m.choice(["bilinear", "nearest"])}


def crop_gradient_of_boxes(m):
    image, boxes, which, size = crop_arguments(m)
    return {
        "grads": m.values((len(which[1]), *size, image[3]), dtype="float32"),
        "image": m.values(image),
        "boxes": boxes,
        "box_ind": which,
    }, {}


def distorted_box(m):
    number = int(m.rng.integers(0 if m.one_in(8) else 1, 4))
    boxes = np.sort(m.rng.uniform(0, 1.2 if m.one_in(12) else 1, (1, number, 2, 2)), 2)
    area = np.sort(m.rng.uniform(0.1, 1, 2))
    return {
        "image_size": m.integers([*m.rng.integers(1, 100, 2), 3], m.dtype),
        "bounding_boxes": ("float32", boxes.reshape(1, number, 4).astype("float32")),
        "min_object_covered": ("float32", np.array(m.choice([0.1, 0.5, 1.0]), "float32")),
        "seed": m.integers(m.rng.integers(-5, 1000, 2), "int64"),
    }, {
        "aspect_ratio_range": [0.5, 1.5],
        "area_range": [float(share) for share in area],
        "max_attempts": int(m.choice([1, 3, 100])),
        "use_image_if_no_bounding_boxes": bool(m.one_in(2)),
    }


# --- recurrent nets ---


def lstm_inputs(m, time=None):
    # TensorFlow ends on other ranks, and has other words for what is empty.
    batch, size, cell = (int(n) for n in m.rng.integers(1, 4, 3))
    wrong = int(m.one_in(12))
    state = (batch, cell)
    x = (batch, size) if time is None else (time, batch, size)
    return {
        "x": m.values(x),
        "cs_prev": m.values(state),
        "h_prev": m.values(state),
        "w": m.values((size + cell + wrong, 4 * cell), -1, 1),
        **{name: m.values((cell,), -1, 1) for name in ("wci", "wcf", "wco")},
        "b": m.values((4 * cell,), -1, 1),
    }, state


def lstm_cell(m):
    given, _ = lstm_inputs(m)
    return given, {
        "forget_bias": 0.5,
        "cell_clip": m.choice([-1.0, 0.0, 0.7]),
        "use_peephole": bool(m.one_in(2)),
    }


def states_of(m, names, shape):
    return {name: m.values(shape, -1, 1) for name in names.split()}


def lstm_cell_gradient(m):
    given, state = lstm_inputs(m)
    more = states_of(m, "i cs f o ci co cs_grad h_grad", state)
    return {**given, **more}, {"use_peephole": bool(m.one_in(2))}


def lstm_block(m):
    time = int(m.rng.integers(1, 4))
    given, _ = lstm_inputs(m, time)
    # What is behind the length TensorFlow leaves as it was.
    return {"seq_len_max": m.integers(time, "int64"), **given}, {
        "cell_clip": m.choice([-1.0, 0.7]),
        "use_peephole": bool(m.one_in(2)),
    }


def lstm_block_gradient(m):
    time = int(m.rng.integers(1, 4))
    given, state = lstm_inputs(m, time)
    more = states_of(m, "i cs f o ci co h cs_grad h_grad", (time, *state))
    length = m.integers(time - int(m.one_in(3)), "int64")
    return {"seq_len_max": length, **given, **more}, {"use_peephole": bool(m.one_in(2))}


def gru_inputs(m):
    batch, size, cell = (int(n) for n in m.rng.integers(1, 4, 3))
    return {
        "x": m.values((batch, size)),
        "h_prev": m.values((batch, cell)),
        "w_ru": m.values((size + cell + int(m.one_in(12)), 2 * cell), -1, 1),
        "w_c": m.values((size + cell, cell), -1, 1),
        "b_ru": m.values((2 * cell,)),
        "b_c": m.values((cell,)),
    }, (batch, cell)


def gru_cell(m):
    return gru_inputs(m)[0], {}


def gru_cell_gradient(m):
    given, state = gru_inputs(m)
    return {**given, **states_of(m, "r u c d_h", state)}, {}


# (op, types, maker, whether gradients are compared)
TABLE = [
    ("ParseSequenceExample", ["string"], parsed, False),
    ("ParseSequenceExampleV2", ["string"], parsed_v2, False),
    ("SparseSegmentSumGradV2", FLOATS, named_rows, False),
    ("SparseSegmentMeanGradV2", FLOATS, named_rows, False),
    ("SparseSegmentSqrtNGradV2", FLOATS, named_rows, False),
    ("CropAndResize", ["float32", "float64", "uint8", "int32"], crop_and_resize, True),
    ("CropAndResizeGradImage", ["float32", "float64"], crop_gradient_of_image, False),
    ("CropAndResizeGradBoxes", ["float32", "uint8"], crop_gradient_of_boxes, False),
    ("StatelessSampleDistortedBoundingBox", ["int32", "int64", "uint8"], distorted_box, False),
    ("LSTMBlockCell", ["float32"], lstm_cell, False),
    ("LSTMBlockCellGrad", ["float32"], lstm_cell_gradient, False),
    ("BlockLSTM", ["float32"], lstm_block, True),
    ("BlockLSTMV2", ["float32"], lstm_block, True),
    ("BlockLSTMGrad", ["float32"], lstm_block_gradient, False),
    ("BlockLSTMGradV2", ["float32"], lstm_block_gradient, False),
    ("GRUBlockCell", ["float32"], gru_cell, False),
    ("GRUBlockCellGrad", ["float32"], gru_cell_gradient, False),
]

REASONS = {
    ("BlockLSTMV2", f"gradient {slot}:"): (
        "its gradient takes the gates in the order of BlockLSTM, which is another one"
    )
    for slot in range(8)
}

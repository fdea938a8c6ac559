"""Rows of rows.py for what reads bytes: numbers as they lie in memory, lines of CSV, examples, whole tensors."""

import gzip
import json
import zlib

import numpy as np

from cases import NUMBERS, Row
from model_cases import entries, feature, field, texts, varint

RAW = ["float16", "float32", "float64", "int32", "uint16", "uint8", "int16", "int8", "int64"]
KINDS = ["int64", "float32", "string"]
CSV = ["float32", "float64", "int32", "int64", "string"]
SIZES = {"bfloat16": 2, "bool": 1, "complex64": 8, "complex128": 16}
SIZES.update({kind: np.dtype(kind).itemsize for kind in RAW})
# The numbers of DataType.
NUMBERED = {
    **{"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7},
    **{"complex64": 8, "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18},
    **{"float16": 19, "uint32": 22, "uint64": 23},
}


def flag(m):
    return bool(m.one_in(2))


def shaped(values, shape):
    return "string", texts(values)[1].reshape(shape)


# --- numbers as they lie in memory ---


def raw_bytes(m, size):
    if m.dtype == "bool":
        return bytes(m.rng.integers(0, 2, size).astype("uint8"))
    # Without what is no number, of which there are many.
    return bytes(m.rng.integers(0, 0x70, size).astype("uint8"))


def decode_raw(m):
    shape = m.shape(ranks=(0, 1, 2), most=3)
    size = SIZES[m.dtype] * int(m.rng.integers(0, 4)) + int(m.one_in(12))
    made = [raw_bytes(m, size) for _ in range(int(np.prod(shape)))]
    return {"bytes": shaped(made, shape)}, {"out_type": m.dtype, "little_endian": flag(m)}


def decode_padded(m):
    shape = m.shape(ranks=(0, 1, 2), most=3)
    made = [raw_bytes(m, int(m.rng.integers(0, 20))) for _ in range(int(np.prod(shape)))]
    length = SIZES[m.dtype] * int(m.rng.integers(1, 4)) + int(m.one_in(12))
    if m.one_in(12):
        length = int(m.choice([0, -1]))
    inputs = {"input_bytes": shaped(made, shape), "fixed_length": m.integers(length)}
    return inputs, {"out_type": m.dtype, "little_endian": flag(m)}


def gzipped(raw):
    return gzip.compress(raw, mtime=0)


def compressed(m):
    kind = m.choice(["", "ZLIB", "GZIP", "LZMA" if m.one_in(6) else "GZIP"])
    shape = m.shape(ranks=(0, 1, 2), most=3)
    made = []
    for _ in range(int(np.prod(shape))):
        raw = m.rng.bytes(int(m.choice([0, 5, 400]))) + b"a" * int(m.rng.integers(0, 50))
        packed = {"ZLIB": zlib.compress, "GZIP": gzipped}.get(kind, bytes)(raw)
        made.append(raw if m.one_in(10) else packed[:-2] if m.one_in(10) else packed)
    return {"bytes": shaped(made, shape)}, {"compression_type": kind}


# --- CSV ---

CELLS = {
    "float32": ["1.5", "-2", "", "1e3", "nan", "inf", " 3", "4 ", "1,5", "x"],
    "int32": ["1", "-2", "", "2147483647", " 3", "4 ", "1.5", "2147483648", "x"],
    "string": [
        "a",
        "",
        "b c",
        " d ",
        '"q"',
        '"a,b"',
        '"a""b"',
        '"open',
        'mid"dle',
        '"x"y',
        '"l\nl"',
    ],
}
CELLS.update(float64=CELLS["float32"], int64=[*CELLS["int32"][:6], "9223372036854775808", "x"])


def cell(m, kind):
    of = CELLS[kind]
    # What is wrong stands last.
    good = of[: -2 if kind != "string" else -4]
    made = m.choice(of if m.one_in(30) else good)
    return "NA" if m.one_in(20) else made


def decode_csv(m):
    kinds = [m.choice(CSV) for _ in range(m.choice([1, 2, 3]))]
    delimiter = m.choice([",", ",", ";", "\t", ",,"] if m.one_in(12) else [",", ",", ";"])
    shape = m.shape(ranks=(0, 1, 2), most=3)
    lines = []
    for _ in range(int(np.prod(shape))):
        cells = [cell(m, kind) for kind in kinds] + (["more"] if m.one_in(20) else [])
        lines.append(delimiter.join(cells).encode() + (b"\r\n" if m.one_in(8) else b""))
    columns = []
    if m.one_in(3):
        columns = sorted(
            int(each) for each in m.rng.permutation(len(kinds))[: m.rng.integers(1, 4)]
        )
        kinds = [kinds[each] for each in columns]
        columns = columns[::-1] if m.one_in(8) else columns
    ranks = [(2,)] if m.one_in(20) else [(0,), (1,), (1,), (), ()]
    defaults = [m.values(m.choice(ranks), dtype=kind) for kind in kinds]
    return {"records": shaped(lines, shape), "record_defaults": defaults}, {
        "field_delim": delimiter,
        "use_quote_delim": not m.one_in(4),
        "na_value": m.choice(["", "NA"]),
        "select_cols": columns,
    }


# --- examples ---


def drawn(m, kind, size=None):
    """Of values whose bytes are a text: TensorFlow's Python can't read another in a message."""
    size = int(m.rng.integers(0, 4)) if size is None else size
    of = {"string": [b"", b"a", b"bc"], "int64": [0, 1, 5, 127], "float32": [0.0, 2.0, 3.0, 0.5]}
    return feature(kind, [m.choice(of[kind]) for _ in range(size)])


def example(m, kinds):
    """With "v" of any length, "d" of two, and "r"; of these kinds, or in one of many cases of another."""
    kinds = [m.choice(KINDS) if m.one_in(30) else kind for kind in kinds]
    of = {}
    if not m.one_in(4):
        of[b"v"] = drawn(m, kinds[0])
    if not m.one_in(6):
        of[b"d"] = drawn(m, kinds[1], size=3 if m.one_in(30) else 2)
    if not m.one_in(4):
        of[b"r"] = b"" if m.one_in(8) else drawn(m, kinds[2])
    whole = field(1, entries(of))
    if m.one_in(8):
        # A feature given twice: the last one counts.
        whole = field(1, entries({**of, b"v": drawn(m, kinds[0])}) + entries(of))
    return whole[: m.rng.integers(len(whole) + 1)] if m.one_in(30) else whole


def kinds_of(m):
    return [m.choice(KINDS) for _ in range(3)]


def default_of(m, kind):
    """None, which makes the feature one that must be there; or one for each, or for all."""
    return m.values((0,) if flag(m) else (2,), dtype=kind)


def parse(m):
    kinds = kinds_of(m)
    batch = int(m.rng.integers(0, 4))
    names = texts([b"name"] * (batch + int(m.one_in(12)) if flag(m) else 0))
    return {
        "serialized": texts([example(m, kinds) for _ in range(batch)]),
        "names": names,
        "sparse_keys": [("string", np.array(key, object)) for key in (b"v", b"r")],
        "dense_keys": [("string", np.array(b"d", object))],
        "dense_defaults": [default_of(m, kinds[1])],
    }, {"sparse_types": [kinds[0], kinds[2]], "dense_shapes": [[2]]}


def parse_v2(m):
    kinds = kinds_of(m)
    is_alone = bool(m.one_in(4))
    batch = int(m.rng.integers(0, 4))
    if is_alone:
        serialized = ("string", np.array(example(m, kinds), object))
    else:
        serialized = texts([example(m, kinds) for _ in range(batch)])
    shapes = m.choice([[2], [None], [None, 1], [1, 2]])
    default = default_of(m, kinds[1])
    if None in shapes:
        default = m.values(
            m.choice([(0,), (1,), (), (2,)] if m.one_in(8) else [(1,)]), dtype=kinds[1]
        )
    return {
        "serialized": serialized,
        "names": texts([]),
        "sparse_keys": texts([b"v"]),
        "dense_keys": texts([b"d"] * (2 if m.one_in(30) else 1)),
        "ragged_keys": texts([b"r"]),
        "dense_defaults": [default],
    }, {
        "num_sparse": 1,
        "sparse_types": kinds[:1],
        "ragged_value_types": kinds[2:],
        "ragged_split_types": [m.choice(["int32", "int64"])],
        "dense_shapes": [shapes],
    }


def parse_single(m):
    kinds = kinds_of(m)
    return {
        "serialized": ("string", np.array(example(m, kinds), object)),
        "dense_defaults": [default_of(m, kinds[1])],
    }, {
        "num_sparse": 2,
        "sparse_keys": ["v", "r"],
        "dense_keys": ["d"],
        "sparse_types": [kinds[0], kinds[2]],
        "dense_shapes": [[2]],
    }


# --- an example as JSON ---


def json_values(m, kind):
    if kind == "string":
        return "bytesList", m.choice([["YQ=="], ["", "YmM="], [], ["YQ"], ["?"]])
    if kind == "int64":
        return "int64List", m.choice([[1, -2], ["3"], [], [1.5], ["x"], [1e3], [2**63]])
    return "floatList", m.choice([[1.5, -2], ["NaN"], [], ["1e3"], ["x"], [1e300], [True]])


def json_example(m):
    name, values = json_values(m, m.choice(KINDS))
    made = {"features": {"feature": {"a": {name: {"value": values}}}}}
    if m.one_in(8):
        made = m.choice(
            [{}, {"features": {}}, {"other": 1}, [], {"features": {"feature": {"a": {}}}}]
        )
    text = json.dumps(made)
    if m.one_in(8):
        text = m.choice([text[:-1], text + "x", "", "null", f" {text}\n"])
    if m.one_in(6):
        text = text.replace("List", "_list")
    return text.encode()


def decode_json(m):
    shape = m.shape(ranks=(0, 1, 2), most=2)
    return {
        "json_examples": shaped([json_example(m) for _ in range(int(np.prod(shape)))], shape)
    }, {}


# --- whole tensors ---


def serialize(m):
    """Also of elements that are all alike, and of ends that are: those are written once."""
    shape = m.shape(ranks=(0, 1, 2), most=6)
    dtype, value = m.values(shape)
    if value.size and m.one_in(3):
        flat = value.ravel()
        flat[int(m.rng.integers(value.size)) :] = flat[0]
    return {"tensor": (dtype, value)}, {}


def tensor_bytes(m):
    """A TensorProto whose values lie in it as in memory, or are strings."""
    dtype, value = m.values(m.shape(ranks=(0, 1, 2)))
    number = NUMBERED[m.choice(list(NUMBERED)) if m.one_in(12) else dtype]
    shape = b"".join(field(2, varint(1 << 3) + varint(dim)) for dim in value.shape)
    if dtype == "string":
        content = b"".join(field(8, bytes(each)) for each in value.ravel())
    else:
        content = field(4, value.tobytes()[: -1 if m.one_in(12) else None])
    whole = varint(1 << 3) + varint(number) + field(2, shape) + content
    return whole[: m.rng.integers(len(whole) + 1)] if m.one_in(12) else whole


def parse_tensor(m):
    given = ("string", np.array(tensor_bytes(m), object))
    if m.one_in(20):
        given = texts([given[1].item()])
    return {"serialized": given}, {"out_type": "int8" if m.one_in(12) else m.dtype}


STORED = [dtype for dtype in NUMBERS if dtype != "bfloat16"]

TABLE = [
    Row("DecodeRaw", [*RAW, "bfloat16", "bool", "complex64", "complex128"], decode_raw),
    Row("DecodePaddedRaw", [*RAW, "bfloat16"], decode_padded),
    Row("DecodeCompressed", ["string"], compressed),
    Row("DecodeCSV", ["string"], decode_csv),
    Row("ParseExample", ["string"], parse),
    Row("ParseExampleV2", ["string"], parse_v2),
    Row("ParseSingleExample", ["string"], parse_single),
    Row("DecodeJSONExample", ["string"], decode_json),
    Row("SerializeTensor", [*NUMBERS, "bool", "string"], serialize),
    Row("ParseTensor", [*STORED, "bool", "string"], parse_tensor),
]

"""Rows of rows.py for strings: patterns, pieces, n-grams, hashes, what formats and joins."""

import base64

import numpy as np

from cases import ANY, Row

WORDS = [
    b"",
    b"a",
    b"bc",
    b"hello world",
    b"a,b,,c",
    b" x  y ",
    b"\xff\x00z",
    b"\xc3\xa4\xe2\x82\xac",
    b"A1-b2",
]
PATTERNS = [
    rb"a",
    rb".*",
    rb"(\w+)\s(\w+)",
    rb"[a-z]+",
    rb"^$",
    rb"",
    rb"\d+",
    rb"(?i)HELLO.*",
    rb"(a|b)*",
    rb"\pL+",
    rb"x{2,1}",
    rb"(unclosed",
    rb"\C",
    rb"(?:^|,)",
]
REWRITES = [rb"_", rb"\1", rb"\2-\1", rb"\0\0", rb"", rb"\\", rb"\3", rb"\x"]


def flag(m):
    return bool(m.one_in(2))


def strings(values, shape=None):
    made = np.empty(len(values), object)
    made[:] = values
    return "string", made.reshape((len(values),) if shape is None else shape)


def words(m, shape=None, of=WORDS):
    shape = m.shape(ranks=(0, 1, 2)) if shape is None else shape
    return strings([m.choice(of) for _ in range(int(np.prod(shape)))], shape)


def word(value):
    return "string", np.array(value, object)


# --- patterns ---


def full_match(m):
    return {"input": words(m), "pattern": word(m.choice(PATTERNS))}, {}


def static_match(m):
    return {"input": words(m)}, {"pattern": m.choice(PATTERNS)}


def static_replace(m):
    return {"input": words(m)}, {
        "pattern": m.choice(PATTERNS),
        "rewrite": m.choice(REWRITES),
        "replace_global": flag(m),
    }


def replace(m):
    inputs = {"input": words(m), "pattern": word(m.choice(PATTERNS))}
    return {**inputs, "rewrite": word(m.choice(REWRITES))}, {"replace_global": flag(m)}


# --- pieces ---


def split(m):
    delimiter = m.choice([b" ", b",", b"", b" ,", b"b", b"\x00"])
    shape = m.shape(ranks=(1,)) if not m.one_in(12) else (2, 2)
    return {"input": words(m, shape), "delimiter": word(delimiter)}, {"skip_empty": flag(m)}


def split_again(m):
    separator = m.choice([b" ", b",", b"", b", ", b"b", b"ll"])
    shape = m.shape(ranks=(1,)) if not m.one_in(12) else (2, 2)
    inputs = {"input": words(m, shape), "sep": word(separator)}
    return inputs, {"maxsplit": int(m.choice([-1, -1, 0, 1, 2]))}


def n_grams(m):
    lengths = m.rng.integers(0, 5, int(m.rng.integers(0, 4)))
    splits = np.concatenate([[0], np.cumsum(lengths)])
    number = int(splits[-1])
    if m.one_in(8):
        splits = splits + m.choice([1, -1])
    if m.one_in(12):
        splits = splits[::-1]
    if m.one_in(12):
        splits = splits[:0]
    widths = [int(each) for each in m.rng.integers(1, 5, m.choice([1, 1, 2]))]
    if m.one_in(12):
        widths = m.choice([[0], [-1, 2], []])
    kind = m.choice(["int32", "int64"])
    return {"data": words(m, (number,)), "data_splits": m.integers(splits, kind)}, {
        "separator": m.choice(["", "|", "--"]),
        "ngram_widths": widths,
        "left_pad": m.choice(["", "L"]),
        "right_pad": m.choice(["", "R"]),
        "pad_width": int(m.choice([-1, 0, 1, 2, 5])),
        "preserve_short_sequences": flag(m),
    }


# --- joins ---


def reduce_join(m):
    shape = m.shape(ranks=(0, 1, 2, 3), most=3)
    rank = len(shape)
    axes = m.rng.permutation(rank)[: m.rng.integers(0, rank + 1)]
    if m.one_in(3):
        axes = axes - rank
    if m.one_in(10):
        axes = m.choice([[rank], [-rank - 1], [0, 0]])
    attrs = {"keep_dims": flag(m), "separator": m.choice(["", ", "])}
    return {"inputs": words(m, shape), "reduction_indices": m.integers(axes)}, attrs


def segment_join(m):
    shape = m.shape(ranks=(1, 2, 3), most=3, least=1)
    prefix = shape[: m.rng.integers(1, len(shape) + 1)]
    ids = m.rng.integers(-1 if m.one_in(12) else 0, 5 if m.one_in(12) else 4, prefix)
    kinds = [m.choice(["int32", "int64"]) for _ in range(2)]
    return {
        "inputs": words(m, shape),
        "segment_ids": m.integers(ids, kinds[0]),
        "num_segments": m.integers(-1 if m.one_in(20) else 4, kinds[1]),
    }, {"separator": m.choice(["", ":"])}


def formatted(m):
    number = m.choice([0, 1, 1, 2])
    inputs = [m.values(m.shape(ranks=(0, 1, 2, 3), most=5)) for _ in range(number)]
    placeholder = m.choice(["%s", "%s", "{}"])
    template = " and ".join([placeholder] * (number + int(m.one_in(12)))) + m.choice(
        ["", "!", "%%"]
    )
    attrs = {"template": template, "placeholder": placeholder}
    return {"inputs": inputs}, {**attrs, "summarize": int(m.choice([3, 1, 2, -1, 10]))}


# --- hashes ---


def bucket(m):
    return {"string_tensor": words(m)}, {"num_buckets": int(m.choice([1, 10, 1 << 40]))}


def fast_bucket(m):
    return {"input": words(m)}, {"num_buckets": int(m.choice([1, 10, 1 << 40]))}


def strong_bucket(m):
    key = [int(each) for each in m.rng.integers(-5, 1 << 62, 3 if m.one_in(12) else 2)]
    return {"input": words(m)}, {"num_buckets": int(m.choice([1, 10, 1 << 40])), "key": key}


# --- base 64 ---


def encoded(m):
    raw = m.rng.bytes(int(m.rng.integers(0, 8)))
    made = base64.urlsafe_b64encode(raw)
    kind = int(m.rng.integers(6))
    if kind == 0:
        return made.rstrip(b"=")
    if kind == 1:
        return base64.b64encode(raw)
    if kind == 2:
        return made[:-1]
    if kind == 3 and m.one_in(3):
        return m.choice(
            [b"=", b"a===", b"ab=c", b"a b c d", b"YQ", b"YR", b"YQ==YQ==", b"\xff\xff"]
        )
    return made


def decode(m):
    shape = m.shape(ranks=(0, 1), most=3)
    return {"input": strings([encoded(m) for _ in range(int(np.prod(shape)))], shape)}, {}


def encode(m):
    return {"input": words(m)}, {"pad": flag(m)}


def length(m):
    return {"input": words(m)}, {"unit": m.choice(["BYTE", "UTF8_CHAR"])}


TABLE = [
    Row("RegexFullMatch", ["string"], full_match),
    Row("StaticRegexFullMatch", ["string"], static_match),
    Row("StaticRegexReplace", ["string"], static_replace),
    Row("RegexReplace", ["string"], replace),
    Row("StringSplit", ["string"], split),
    Row("StringSplitV2", ["string"], split_again),
    Row("StringNGrams", ["string"], n_grams),
    Row("ReduceJoin", ["string"], reduce_join),
    Row("UnsortedSegmentJoin", ["string"], segment_join),
    Row("StringFormat", [*ANY, "float64", "int8"], formatted),
    Row("StringToHashBucket", ["string"], bucket),
    Row("StringToHashBucketFast", ["string"], fast_bucket),
    Row("StringToHashBucketStrong", ["string"], strong_bucket),
    Row("DecodeBase64", ["string"], decode),
    Row("EncodeBase64", ["string"], encode),
    Row("StringLength", ["string"], length),
]

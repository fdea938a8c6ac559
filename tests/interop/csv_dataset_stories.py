"""Stories of datasets of CSV files: rows of files that are written before, of which some are wrong."""

import gzip
import zlib

import numpy as np

from cases import stories_of
from dataset_stories import Data, flag, int64, walk, word

TYPES = ["int32", "int64", "float32", "float64", "string"]

FIELDS = [b"1", b"-2", b" 3 ", b"+4", b"0.5", b"1e3", b"nan", b"a", b"NA", b"", b"", b"9999999999"]
QUOTED = [b'"1"', b'""', b'"a,b"', b'"a\nb"', b'"c""d"', b'" 2 "']
WRONG = [b'"', b'a"b', b'"a"b"', b'"a" ', b"x"]


def rows(m, columns):
    """Records of about so many fields, which numbers can be read from mostly."""
    text = []
    for _ in range(int(m.rng.integers(0, 7))):
        count = columns + (int(m.rng.integers(-1, 2)) if m.one_in(10) else 0)
        fields = [m.choice(FIELDS[:2] if not m.one_in(3) else FIELDS) for _ in range(count)]
        if m.one_in(3):
            fields = [m.choice(QUOTED) if m.one_in(2) else field for field in fields]
        if m.one_in(10) and fields:
            fields[0] = m.choice(WRONG)
        text.append(m.delimiter.join(fields))
    return text


def content(m, columns, header):
    lines = rows(m, columns)
    if header and not m.one_in(8):
        lines.insert(0, b'id,"two\nlines"' if m.one_in(4) else b"id,name")
    end = m.choice([b"\n", b"\n", b"\r\n", b"\r"])
    return end.join(lines) + (end if lines and m.one_in(2) else b"")


def packed(kind, text):
    return {b"GZIP": gzip.compress, b"ZLIB": zlib.compress}.get(kind, bytes)(text)


def default(m):
    """One, or none: then a field must be there."""
    if m.one_in(3):
        return m.values((0,))
    dtype, value = m.values((), dtype=m.dtype)
    return dtype, value.reshape(m.choice([(), (1,)]))


def columns_of(m, most, count):
    if not m.one_in(3):
        return int64(m, np.zeros([0]))
    return int64(m, sorted(m.rng.choice(most, min(count, most), replace=False).tolist()))


def csv_story(m, op):
    columns = int(m.rng.integers(1, 4))
    m.delimiter = m.choice([b",", b",", b";"])
    header = bool(m.one_in(3))
    kind = m.choice([b"", b"", b"GZIP", b"ZLIB"])
    for name in (b"f", b"g"):
        text = packed(kind, content(m, columns, header))
        m.call("WriteFile", {"filename": word(name), "contents": word(text)})
    selected = columns_of(m, columns, int(m.rng.integers(1, columns + 1)))
    count = len(selected[1]) or columns
    given = {
        "filenames": word(m.choice([b"f", [b"f", b"g"]])),
        "compression_type": word(kind if not m.one_in(10) else b"ODD"),
        "buffer_size": int64(m, m.choice([1, 2, 5, 4096, 0 if m.one_in(6) else 7])),
        "header": flag(m, header),
        "field_delim": word(m.delimiter if not m.one_in(16) else b"::"),
        "use_quote_delim": flag(m, not m.one_in(5)),
        "na_value": word(m.choice([b"", b"NA"])),
        "select_cols": selected,
        "record_defaults": [default(m) for _ in range(count)],
    }
    if op.endswith("V2"):
        given["exclude_cols"] = int64(m, [columns] if m.one_in(3) else np.zeros([0]))
    shapes = [[]] * count
    handle = m.call(op, given, output_shapes=shapes)
    walk(Data(m, handle, [m.dtype] * count, shapes, 0), 12)


TABLE = stories_of("CSVDataset CSVDatasetV2 ExperimentalCSVDataset", TYPES, csv_story)

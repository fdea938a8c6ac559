"""Stories of files, in a folder of their own: written, found, read record by record, and checkpoints."""

import struct
import zlib

import numpy as np

from cases import Row, StoryRow, stories_of

KEPT = [
    "float32",
    "float64",
    "int32",
    "int64",
    "string",
    "bool",
    "complex64",
    "bfloat16",
    "uint8",
    "int16",
]
# As numbers of what checkpoints of the first format keep.
OLD = [
    "float32",
    "float64",
    "int32",
    "int64",
    "string",
    "bool",
    "uint8",
    "int16",
    "int8",
    "complex64",
]


def flag(m):
    return bool(m.one_in(2))


def text(value):
    return "string", np.array(value, object)


def texts(values):
    made = np.empty(len(values), object)
    made[:] = values
    return "string", made


def write(m, name, content):
    m.call("WriteFile", {"filename": text(name), "contents": text(content)})


# --- whole files ---


def written_story(m):
    """A file is written, perhaps once more, and read; what is not there is not."""
    name = m.choice([b"a", b"deep/er/b", b"./c", b"d d"])
    write(m, name, m.rng.bytes(int(m.choice([0, 5, 4000]))))
    if m.one_in(3):
        write(m, name, b"shorter")
    if m.one_in(6):
        write(m, m.choice([b"", b"a/under", b"deep"]), b"?")
    read = m.choice([b"none", b"deep", b"", b"a/b"]) if m.one_in(4) else name
    m.call("ReadFile", {"filename": text(read)})


PATTERNS = [
    b"*",
    b"a*",
    b"d/*",
    b"*/*",
    b"[ab]?",
    b"d",
    b"./a*",
    b"none",
    b"n/*",
    b"a1",
    b"",
    b"{a1,b2}",
    b"*.txt",
    b"\\*",
    b"[",
    b"d/../a*",
]


def found_story(m):
    """Names are matched with patterns: one, or several."""
    for name in (b"a1", b"a2", b"b2", b"d/a1", b"d/e/f", b"x.txt"):
        if not m.one_in(4):
            write(m, name, b"")
    patterns = [m.choice(PATTERNS) for _ in range(int(m.rng.integers(0, 4)))]
    given = text(m.choice(PATTERNS)) if flag(m) else texts(patterns)
    if m.one_in(20):
        given = ("string", given[1].reshape(1, -1))
    m.call("MatchingFiles", {"pattern": given})


# --- readers ---


def masked_crc(content):
    """CRC-32C as records have it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(content):
    length = struct.pack("<Q", len(content))
    ends = [struct.pack("<I", masked_crc(part)) for part in (length, content)]
    return length + ends[0] + content + ends[1]


def damaged(m, content):
    """In one file of eight: cut off, or with a byte that is another."""
    if not content or not m.one_in(8):
        return content
    at = int(m.rng.integers(len(content)))
    if flag(m):
        return content[:at]
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def lines(m):
    ends = m.choice([b"\n", b"\n", b"\r\n"])
    made = ends.join(
        m.choice([b"", b"one", b"two words", b"\xc3\xa4"]) for _ in range(m.rng.integers(0, 5))
    )
    return made + (ends if flag(m) else b"")


def reader_of(m, kind):
    """(attributes of a reader, what makes its files)."""
    if kind == "TextLineReader":
        return {
            "skip_header_lines": int(m.choice([0, 0, 1, 9, -1] if m.one_in(12) else [0, 0, 1, 9]))
        }, lines
    if kind == "TFRecordReader":
        packed = m.choice(["", "", "ZLIB", "GZIP" if m.one_in(4) else "ZLIB"])

        def records(m):
            whole = b"".join(
                record(m.rng.bytes(int(m.rng.integers(0, 9)))) for _ in range(m.rng.integers(0, 4))
            )
            whole = damaged(m, whole)
            return zlib.compress(whole) if packed == "ZLIB" else whole

        return {"compression_type": packed}, records
    if kind == "FixedLengthRecordReader":
        sizes = {"header_bytes": int(m.choice([0, 3])), "footer_bytes": int(m.choice([0, 2]))}
        # Records of no bytes TensorFlow takes, and reads for ever.
        sizes["record_bytes"] = -1 if m.one_in(20) else int(m.choice([1, 4]))
        sizes["hop_bytes"] = int(m.choice([0, 0, 1, 5] if not m.one_in(20) else [-1]))
        return sizes, lambda m: m.rng.bytes(int(m.rng.integers(0, 16)))
    return {}, lambda m: m.rng.bytes(int(m.rng.integers(0, 9)))


def work_of(m, version, names):
    """The queue that a reader takes its files from, filled and closed."""
    queue = m.call(f"FIFOQueue{version}", component_types=["string"], shapes=[[]], shared_name="q")
    if names:
        enqueued = {"handle": queue, "components": [texts(names)]}
        m.call(f"QueueEnqueueMany{version}", enqueued)
    if not m.one_in(6):
        m.call(f"QueueClose{version}", {"handle": queue})
    return queue


def reader_call(m, verb, version, reader, queue):
    """A call of a reader: some are on the queue of its files, too, and may wait for these."""
    given = {"reader_handle": reader}
    if "Read" in verb.removeprefix("Reader"):
        given["queue_handle"] = queue
    if verb == "ReaderReadUpTo":
        number = m.choice([1, 2, 5, 0 if m.one_in(4) else 3])
        given["num_records"] = m.integers(number, "int64")
    if verb == "ReaderRestoreState":
        given["state"] = text(m.choice([b"", b"junk", b"\x08\x01\x10\x01\x18\x01"]))
    m.call(verb + version, given, waits="queue_handle" in given)


def reader_op_story(m, op):
    """Of an op on readers: one of any kind comes to it, once at least."""
    version = "V2" if op.endswith("V2") else ""
    kind = m.choice(READERS.split()) + version
    reader_story(m, m.choice([kind, "FixedLengthRecordReaderV2"]) if version else kind, op)


def reader_story(m, op, besides=None):
    kind, version = op.removesuffix("V2"), "V2" if op.endswith("V2") else ""
    attrs, content = reader_of(m, kind)
    names = [b"f%d" % number for number in range(int(m.rng.integers(0, 4)))]
    for name in names:
        if not m.one_in(12) and kind != "IdentityReader":
            write(m, name, content(m))
    queue = work_of(m, version, names)
    reader = m.call(op, shared_name="r", **attrs)
    verbs = [m.choice(READS) for _ in range(int(m.rng.integers(0, 6)))]
    if besides:
        verbs.insert(int(m.rng.integers(len(verbs) + 1)), besides.removesuffix("V2"))
    for verb in [*verbs, "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted"]:
        reader_call(m, verb, version, reader, queue)


# --- checkpoints ---


def sliced(m, shape):
    """The text of a slice of a tensor of that shape, as checkpoints have it; and its dims."""
    parts, dims = [], []
    for dim in shape:
        start = int(m.rng.integers(0, dim))
        size = int(m.rng.integers(1, dim - start + 1))
        whole = m.one_in(3)
        parts.append("-" if whole else f"{start},{size}")
        dims.append(dim if whole else size)
    return f"{' '.join(str(dim) for dim in shape)} {':'.join(parts)}".encode(), dims


def saved_story(m):
    """Tensors are saved, and restored: whole ones, slices of them, and some that are not there."""
    shape = m.shape(ranks=(0, 1, 2), least=1)
    names, tensors = [b"one", b"two"], [m.values(shape), m.values(dtype=m.choice(KEPT))]
    if m.one_in(12):
        names = m.choice([[b"one", b"one"], [b"one"]])
    prefix = text(m.choice([b"c", b"deep/c"]))
    slices = [b""] * len(names)
    given = {"prefix": prefix, "tensor_names": texts(names), "shape_and_slices": texts(slices)}
    m.call("SaveV2", {**given, "tensors": tensors})
    m.call("ReadFile", {"filename": text(prefix[1].item() + b".data-00000-of-00001")})
    asked = [b"two", b"one"] if flag(m) else [b"one"]
    if m.one_in(8):
        asked.append(b"three")
    kinds = {b"one": tensors[0][0], b"two": tensors[1][0], b"three": "float32"}
    dtypes = ["int8" if m.one_in(20) else kinds[name] for name in asked]
    slices = [
        sliced(m, shape)[0] if name == b"one" and flag(m) and shape else b"" for name in asked
    ]
    if m.one_in(12):
        slices[0] = m.choice([b"9 -", b"junk", b"2 0,9", b"2 2 -"])
    read = {"prefix": text(b"none") if m.one_in(12) else prefix, "tensor_names": texts(asked)}
    m.call("RestoreV2", {**read, "shape_and_slices": texts(slices)}, dtypes=dtypes)


def parts_story(m):
    """A tensor is saved by slices into two checkpoints; these are merged, and it is read."""
    rows, columns = int(m.rng.integers(2, 5)), int(m.rng.integers(1, 4))
    cut = int(m.rng.integers(1, rows))
    for number, (start, size) in enumerate([(0, cut), (cut, rows - cut - int(m.one_in(12)))]):
        slices = [f"{rows} {columns} {start},{size}:-".encode(), b""]
        tensors = [m.values((size, columns)), m.values(())]
        names = texts([b"t", b"own%d" % (0 if m.one_in(20) else number)])
        given = {"prefix": text(b"p%d" % number), "tensor_names": names}
        m.call("SaveV2", {**given, "shape_and_slices": texts(slices), "tensors": tensors})
    prefixes = texts([b"p0", b"p1", b"p2"] if m.one_in(8) else [b"p0", b"p1"])
    m.call(
        "MergeV2Checkpoints",
        {"checkpoint_prefixes": prefixes, "destination_prefix": text(b"whole/c")},
        delete_old_dirs=flag(m),
        allow_missing_files=flag(m),
    )
    m.call("MatchingFiles", {"pattern": texts([b"p*.index", b"whole/*"])})
    asked = {"prefix": text(b"whole/c"), "tensor_names": texts([b"t", b"own1"])}
    part = f"{rows} {columns} 1,{rows - 1}:-".encode()
    slices = texts([part if flag(m) else b"", b""])
    m.call("RestoreV2", {**asked, "shape_and_slices": slices}, dtypes=[m.dtype, m.dtype])


def old_story(m, op):
    """The same in the first format, in which whole files are matched with a pattern."""
    shape = m.shape(ranks=(1, 2), least=1)
    names = texts([b"t"] if not m.one_in(12) else [b"t", b"u"])
    whole = {"filename": text(b"old"), "tensor_names": names}
    if op == "Save":
        m.call("Save", {**whole, "data": [m.values(shape)]})
    else:
        part, dims = sliced(m, shape)
        part, dims = (b"", shape) if m.one_in(4) else (part, dims)
        slices = texts([b"junk" if m.one_in(12) else part])
        m.call("SaveSlices", {**whole, "shapes_and_slices": slices, "data": [m.values(dims)]})
    pattern = text(m.choice([b"old", b"o*", b"none"] if m.one_in(8) else [b"old", b"o*"]))
    asked = {"file_pattern": pattern, "tensor_name": text(b"u" if m.one_in(12) else b"t")}
    dtype = "int8" if m.one_in(12) else m.dtype
    m.call("Restore", asked, dt=dtype)
    m.call("RestoreSlice", {**asked, "shape_and_slice": text(sliced(m, shape)[0])}, dt=m.dtype)


# --- names ---


def sharded(m):
    number, whole = (int(each) for each in m.rng.integers(0, 12, 2))
    inputs = {"basename": text(m.choice([b"a", b"", b"d/b"])), "shard": m.integers(number)}
    return {**inputs, "num_shards": m.integers(whole)}, {}


def sharded_spec(m):
    inputs = {"basename": text(m.choice([b"a", b"", b"d/b"]))}
    return {**inputs, "num_shards": m.integers(m.choice([0, 3, 12, 123456]))}, {}


READS = 5 * ["ReaderRead"] + 3 * ["ReaderReadUpTo"] + 2 * ["ReaderRestoreState"]
READS += ["ReaderReset", "ReaderSerializeState"]
ON_READERS = [*dict.fromkeys(READS), "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted"]
READERS = "TextLineReader TFRecordReader WholeFileReader IdentityReader"
NEWER = "FixedLengthRecordReaderV2 " + " ".join(f"{name}V2" for name in READERS.split())

BOTH = [op + version for op in ON_READERS for version in ("", "V2")]

TABLE = [
    *(StoryRow(op, ["string"], written_story) for op in ("WriteFile", "ReadFile")),
    StoryRow("MatchingFiles", ["string"], found_story),
    *stories_of(READERS, ["string"], reader_story),
    *stories_of(NEWER, ["string"], reader_story),
    *stories_of(" ".join(BOTH), ["string"], reader_op_story),
    *(StoryRow(op, KEPT, saved_story) for op in ("SaveV2", "RestoreV2")),
    StoryRow("MergeV2Checkpoints", KEPT, parts_story),
    *stories_of("Save SaveSlices", OLD, old_story),
    Row("ShardedFilename", ["string"], sharded),
    Row("ShardedFilespec", ["string"], sharded_spec),
]

NO_TEXTS = "RestoreV2: InvalidArgumentError in TensorFlow, values here"
REASONS = {
    (op, NO_TEXTS): "it restores no slices of strings"
    for op in ("SaveV2", "RestoreV2", "MergeV2Checkpoints")
}

UNCOMPARED = {
    "FixedLengthRecordReader": (
        "TensorFlow's kernel asks for an attribute that the op's signature lacks"
    ),
    "RecordInput": "which records come first is up to the threads that read",
}

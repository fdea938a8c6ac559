"""Stories of checkpoints, in both formats: tensors are saved, whole or as slices, merged and restored."""

import numpy as np

from cases import StoryRow

TYPES = "float32 float64 float16 bfloat16 int32 int64 int8 uint8 bool string complex64".split()


def strings(values):
    return "string", np.array([value.encode() for value in values], object)


def text(value):
    return "string", np.array(value.encode(), object)


def tensors(m, number=None):
    """Of the story's type first, of others behind it."""
    number = int(m.rng.integers(1, 4)) if number is None else number
    types = [m.dtype, *[m.choice(TYPES) for _ in range(number)]][:number]
    return [m.values(m.shape(), dtype=dtype) for dtype in types]


def names_of(values):
    return [f"t/{i}" if i % 2 else f"t{i}" for i in range(len(values))]


# --- slices ---


def halves(m, values):
    """(spec, part) of two parts that make up the whole, along one axis; or of the whole in one."""
    shape = values.shape
    if not shape or min(shape) < 2 or m.one_in(4):
        return [("", values)]
    axis = int(m.rng.integers(len(shape)))
    cut = int(m.rng.integers(1, shape[axis]))
    dims = " ".join(map(str, shape))
    parts = []
    for first, last in ((0, cut), (cut, shape[axis])):
        spans = ["-"] * len(shape)
        spans[axis] = f"{first},{last - first}"
        part = np.take(values, range(first, last), axis)
        parts.append((f"{dims} {':'.join(spans)}", part))
    return parts


def wanted(m, shape, dtype):
    """A part to restore, as a spec says it; now and then one that does not fit."""
    # Of these TensorFlow restores no parts.
    if m.one_in(2) or dtype in ("string", "float16") or not shape or min(shape) < 1:
        return ""
    dims = [*shape]
    if m.one_in(10):
        dims[-1] += 1
    spans = []
    for dim in shape:
        first = int(m.rng.integers(dim))
        spans.append(m.choice(["-", f"{first},{int(m.rng.integers(1, dim - first + 1))}"]))
    if m.one_in(16):
        spans[0] = m.choice([f"0,{shape[0] + 1}", "x", "-1,1", ""])
    return f"{' '.join(map(str, dims))} {':'.join(spans)}"


# --- the format of now ---


def save(m, prefix, values, names=None):
    """Whole tensors; now and then with a name too few, or the same one twice."""
    names = names or names_of(values)
    if m.one_in(12):
        names = m.choice([names[1:], [names[0]] * len(names)])
    inputs = {
        "prefix": text(prefix),
        "tensor_names": strings(names),
        "shape_and_slices": strings([""] * (len(names) + (1 if m.one_in(24) else 0))),
        "tensors": values,
    }
    m.call("SaveV2", inputs)


def save_parts(m, prefix, values):
    """One tensor, in slices."""
    parts = halves(m, values[1])
    inputs = {
        "prefix": text(prefix),
        "tensor_names": strings(["t0"] * len(parts)),
        "shape_and_slices": strings([spec for spec, _ in parts]),
        "tensors": [(values[0], part) for _, part in parts],
    }
    m.call("SaveV2", inputs)


def restore(m, prefix, values, names=None):
    names = names or names_of(values)
    types = [dtype for dtype, _ in values]
    if m.one_in(12):
        types[0] = "int16"
    if m.one_in(12):
        names = ["absent", *names[1:]]
    specs = [wanted(m, np.shape(value), dtype) for dtype, value in values]
    if m.one_in(24):
        specs = [*specs, ""]
    inputs = {
        "prefix": text("nowhere" if m.one_in(16) else prefix),
        "tensor_names": strings(names),
        "shape_and_slices": strings(specs),
    }
    m.call("RestoreV2", inputs, dtypes=types)


def checkpoint(m):
    prefix = m.choice(["c", "folder/c", "c.ckpt-12"])
    values = tensors(m)
    if m.one_in(3):
        save_parts(m, prefix, values[0])
        values = values[:1]
    else:
        save(m, prefix, values)
    restore(m, prefix, values)


def merge(m):
    """Two checkpoints become one, which the next saving overwrites or not."""
    values = tensors(m, 2)
    names = ["one", "one"] if m.one_in(10) else ["one", "two"]
    save(m, "tmp/a", values[:1], names[:1])
    save(m, "tmp/b" if not m.one_in(6) else "tmp2/b", values[1:], names[1:])
    prefixes = ["tmp/a", "tmp/b"] if not m.one_in(8) else ["tmp/a", "tmp/absent"]
    inputs = {"checkpoint_prefixes": strings(prefixes), "destination_prefix": text("all")}
    attrs = {"delete_old_dirs": bool(m.one_in(2)), "allow_missing_files": bool(m.one_in(2))}
    m.call("MergeV2Checkpoints", inputs, **attrs)
    restore(m, "all", values, names)
    restore(m, "tmp/a", values[:1], names[:1])


# --- the first format ---

OLD_TYPES = "float32 float64 int32 int64 int8 uint8 int16 bool string complex64 float16".split()


def save_old(m, file, values):
    names = names_of(values)
    if m.one_in(12):
        names = names[1:]
    elif m.one_in(12) and len({(dtype, np.shape(value)) for dtype, value in values}) == 3:
        names = ["t0"] * 3
    m.call("Save", {"filename": text(file), "tensor_names": strings(names), "data": values})


def save_old_parts(m, file, values):
    parts = halves(m, values[1])
    inputs = {
        "filename": text(file),
        "tensor_names": strings(["t0"] * len(parts)),
        "shapes_and_slices": strings([spec for spec, _ in parts]),
        "data": [(values[0], part) for _, part in parts],
    }
    m.call("SaveSlices", inputs)


def restore_old(m, file, values):
    """Whole, or a part; by the file's name or a pattern that fits it."""
    for name, (dtype, value) in zip(names_of(values), values):
        inputs = {
            "file_pattern": text("nowhere" if m.one_in(16) else m.choice([file, f"{file[:-1]}*"])),
            "tensor_name": text("absent" if m.one_in(12) else name),
        }
        dt = "int16" if m.one_in(12) else dtype
        if m.one_in(2):
            m.call("Restore", inputs, dt=dt)
        else:
            spec = text(wanted(m, np.shape(value), dtype))
            m.call("RestoreSlice", {**inputs, "shape_and_slice": spec}, dt=dt)


def old_checkpoint(m):
    number = int(m.rng.integers(1, 4))
    types = [m.dtype, *[m.choice(OLD_TYPES) for _ in range(number - 1)]]
    values = [m.values(m.shape(), dtype=dtype) for dtype in types]
    if m.one_in(2):
        save_old_parts(m, "old", values[0])
        values = values[:1]
    else:
        save_old(m, "old", values)
    restore_old(m, "old", values)


def sharded_name(m):
    shard, shards = (int(m.rng.integers(-1, limit)) for limit in (9, 120000))
    inputs = {"basename": text(m.choice(["", "a", "d/e"])), "num_shards": m.integers(shards)}
    m.call("ShardedFilespec", inputs)
    m.call("ShardedFilename", {**inputs, "shard": m.integers([shard] if m.one_in(8) else shard)})


TABLE = [
    *(StoryRow(op, TYPES, checkpoint) for op in ("SaveV2", "RestoreV2")),
    StoryRow("MergeV2Checkpoints", TYPES, merge),
    *(
        StoryRow(op, OLD_TYPES, old_checkpoint)
        for op in ("Save", "SaveSlices", "Restore", "RestoreSlice")
    ),
    *(StoryRow(op, ["string"], sharded_name) for op in ("ShardedFilename", "ShardedFilespec")),
]

"""Stories of vocabularies that change: where words went, and the rows of a matrix, kept in a checkpoint, with them."""

import numpy as np

from cases import StoryRow
from file_stories import text, texts, write

WORDS = [b"a", b"b", b"cc", b"d e", b"", b"f"]


def vocabulary(m, name):
    """A file of words, one a line, and how many there are."""
    count = int(m.rng.integers(0, len(WORDS) + 1))
    words = [WORDS[i] for i in m.rng.permutation(len(WORDS))[:count]]
    if not m.one_in(16):
        write(m, name, b"".join(word + b"\n" for word in words))
    return count


def words_story(m):
    """Of a part of the new words, where they are among the old ones, or the first of these."""
    count, old = vocabulary(m, b"new"), vocabulary(m, b"old")
    given = {"new_vocab_file": text(b"new"), "old_vocab_file": text(b"old")}
    offset = int(m.rng.integers(0, count + 1))
    number = max(0, count - offset) + (1 if m.one_in(8) else 0)
    attrs = {"new_vocab_offset": offset, "num_new_vocab": number}
    if m.one_in(2):
        attrs["old_vocab_size"] = int(m.choice([-1, 1, max(old, 1)]))
    m.call("GenerateVocabRemapping", given, **attrs)


def remapping(m, number, limit):
    """Which row each comes from, or -1; now and then one that is not there, or two from one."""
    made = m.rng.permutation(max(limit, number))[:number]
    made = np.where(made < limit, made, -1)
    if number and m.one_in(8):
        made[0] = m.choice([limit, made[-1], -2])
    return made


def matrix_story(m):
    """Rows and columns of a matrix are taken from where they were; values are given for the others."""
    shape = tuple(int(n) for n in m.rng.integers(1, 5, 2))
    kept = m.values(shape if not m.one_in(12) else shape[:1], dtype="float32")
    names, slices = texts([b"m"]), texts([b""])
    given = {"prefix": text(b"c"), "tensor_names": names, "shape_and_slices": slices}
    m.call("SaveV2", {**given, "tensors": [kept]})
    rows, columns = (int(n) for n in m.rng.integers(1, 5, 2))
    from_rows = remapping(m, rows, shape[0])
    from_columns = remapping(m, columns, shape[1]) if m.one_in(2) else np.zeros(0, "int64")
    columns = len(from_columns) or shape[1]
    at_columns = from_columns if len(from_columns) else np.arange(columns)
    lacking = int(np.sum((from_rows[:, None] == -1) | (at_columns[None, :] == -1)))
    lacking += int(m.one_in(8))
    m.call(
        "LoadAndRemapMatrix",
        {
            "ckpt_path": text(b"none" if m.one_in(12) else b"c"),
            "old_tensor_name": text(b"n" if m.one_in(12) else b"m"),
            "row_remapping": m.integers(from_rows, "int64"),
            "col_remapping": m.integers(from_columns, "int64"),
            "initializing_values": m.values((lacking,), dtype="float32"),
        },
        num_rows=rows + int(m.one_in(12)),
        num_cols=columns,
        max_rows_in_memory=int(m.choice([-1, 1, 2])),
    )


TABLE = [
    StoryRow("GenerateVocabRemapping", ["string"], words_story),
    StoryRow("LoadAndRemapMatrix", ["float32"], matrix_story),
]

REASONS = {
    (
        "GenerateVocabRemapping",
        "OutOfRangeError in TensorFlow",
    ): "of a file of no words it tells its end",
    ("LoadAndRemapMatrix", "values in TensorFlow, InvalidArgumentError here"): (
        "it reads whatever its memory holds behind the columns that there are"
    ),
    ("LoadAndRemapMatrix", "InternalError in TensorFlow, InvalidArgumentError here"): (
        "of rows that are not there it finds no part, and calls that its own fault"
    ),
}

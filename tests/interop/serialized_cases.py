"""Rows of rows.py for sparse and ragged tensors as strings and variants, and for what they are crossed into."""

import numpy as np

from cases import NUMBERS, Row, StoryRow
from sparse_cases import dims_of, one, places, ragged

EVERY = [*NUMBERS, "bool", "string"]
SPARSE = ("sparse_indices", "sparse_values", "sparse_shape")


def flag(m):
    return bool(m.one_in(2))


def broken(m, given):
    """In one case of twelve of another size than it should be."""
    if m.one_in(12):
        kind, indices = given["sparse_indices"]
        given["sparse_indices"] = (kind, indices[:, :1] if flag(m) else indices[1:])
    return given


# --- sparse tensors as strings ---


def serialize(m):
    return broken(m, one(m, SPARSE)[0]), {"out_type": "string"}


def serialize_many(m):
    dims = dims_of(m, (1, 2, 3) if m.one_in(8) else (2, 3))
    return broken(m, one(m, SPARSE, dims)[0]), {"out_type": "string"}


def read_back(m, op):
    """One sparse tensor or several, written and read."""
    kind = m.choice(["string", "variant"])
    is_many = op == "DeserializeManySparse" or flag(m)
    if op == "DeserializeManySparse":
        kind = "string"
    dims = dims_of(m, (2, 3))
    made = m.call(
        "SerializeManySparse" if is_many else "SerializeSparse",
        one(m, SPARSE, dims)[0],
        out_type=kind,
    )
    if not is_many and flag(m):
        other = m.call(
            "SerializeSparse",
            one(m, SPARSE, [dim + int(m.one_in(3)) for dim in dims])[0],
            out_type=kind,
        )
        made = m.call("Pack", {"values": [made, other]}, axis=0)
    dtype = m.choice(["float32", "int16"]) if m.one_in(12) else m.dtype
    m.call(op, {"serialized_sparse": made}, dtype=dtype)


def read(m):
    read_back(m, "DeserializeSparse")


def read_many(m):
    read_back(m, "DeserializeManySparse")


# --- sparse tensors kept in a map ---


def map_of(m):
    return {"container": "", "shared_name": m.choice(["a", "b"] if m.one_in(8) else ["a"])}


def kept_story(m):
    """Tensors go into a map, and are taken out of it, once each."""
    dims = dims_of(m, (1, 2))
    handles, kept = [], map_of(m)
    for _ in range(m.choice([1, 2, 3])):
        mine = [dim + int(m.one_in(4)) for dim in dims]
        handle = m.call("AddSparseToTensorsMap", broken(m, one(m, SPARSE, mine)[0]), **kept)
        handles.append(handle)
    # All of them are put in again, in any order.
    taken = m.call("Pack", {"values": handles}, axis=0, hides=True)
    dtype = "int16" if m.one_in(12) else m.dtype
    m.call("TakeManySparseFromTensorsMap", {"sparse_handles": taken}, dtype=dtype, **map_of(m))
    if m.one_in(4):
        m.call(
            "TakeManySparseFromTensorsMap", {"sparse_handles": taken}, dtype=m.dtype, **map_of(m)
        )


def kept_rows_story(m):
    """All rows of a tensor go into a map at once."""
    dims = dims_of(m, (1, 2, 3) if m.one_in(8) else (2, 3))
    given = broken(m, one(m, SPARSE, dims)[0])
    handles = m.call("AddManySparseToTensorsMap", given, **map_of(m))
    attrs = {"dtype": m.dtype, **map_of(m)}
    m.call("TakeManySparseFromTensorsMap", {"sparse_handles": handles}, **attrs)


def wrong_take(m):
    numbers = m.rng.integers(-1, 3, m.choice([(), (0,), (2,)]))
    inputs = {"sparse_handles": m.integers(numbers, "int64")}
    m.call("AddSparseToTensorsMap", one(m, SPARSE)[0], **map_of(m))
    m.call("TakeManySparseFromTensorsMap", inputs, dtype=m.dtype, **map_of(m))


# --- gradients of sparse ops ---


def add_grad(m):
    dims = dims_of(m)
    a, b = places(m, dims), places(m, dims)
    both = np.array(sorted({*map(tuple, a.tolist()), *map(tuple, b.tolist())}), "int64")
    both = both.reshape(-1, len(dims))
    number = len(both) + int(m.one_in(12))
    given = {"a_indices": a, "b_indices": b, "sum_indices": both}
    inputs = {name: m.integers(each, "int64") for name, each in given.items()}
    return {"backprop_val_grad": m.values((number,)), **inputs}, {}


def slice_grad(m):
    dims = dims_of(m)
    whole = places(m, dims)
    start = np.array([int(m.rng.integers(0, dim)) for dim in dims], "int64")
    size = m.rng.integers(1, 4, len(dims))
    inside = np.all((whole >= start) & (whole < start + size), axis=1)
    output = whole[inside] - start
    return {
        "backprop_val_grad": m.values((len(output) + int(m.one_in(12)),)),
        "input_indices": m.integers(whole, "int64"),
        "input_start": m.integers(start, "int64"),
        "output_indices": m.integers(output, "int64"),
    }, {}


# --- ragged tensors ---


def variant_story(m):
    """A ragged tensor as a variant, or one for each of its rows, and as it was."""
    nested, values = ragged(m)
    kind = m.choice(["int32", "int64"])
    splits = [m.integers(level, kind) for level in nested]
    is_batched = flag(m)
    if m.one_in(12) and not is_batched:
        splits = []
    given = {"rt_nested_splits": splits, "rt_dense_values": values}
    made = m.call("RaggedTensorToVariant", given, batched_input=is_batched)
    rank = len(splits)
    inner = rank - 1 if is_batched else rank
    if m.one_in(12):
        inner, rank = inner + 1, rank + int(flag(m))
    m.call(
        "RaggedTensorFromVariant",
        {"encoded_ragged": made},
        input_ragged_rank=-1 if m.one_in(4) else max(inner, -1),
        output_ragged_rank=rank,
        Tvalues="int16" if m.one_in(12) else m.dtype,
        Tsplits="int64" if m.one_in(12) else kind,
    )


COMPOSITES = ("CompositeTensorVariantFromComponents", "CompositeTensorVariantToComponents")


def composite_story(m):
    """Parts of one value as a variant, and as they were; types that are others, now and then."""
    parts = [m.values(), m.values((), dtype="int64")][: int(m.rng.integers(1, 3))]
    # A message that says nothing of the value's kind.
    made = m.call(COMPOSITES[0], {"components": parts}, metadata=b"")
    types = [dtype for dtype, _ in parts]
    if m.one_in(8):
        types = m.choice([["int16"] * len(types), [*types, "bool"]])
    attrs = {"metadata": b"", "Tcomponents": types}
    m.call(COMPOSITES[1], {"encoded": made}, **attrs)


def variant_gradient_story(m):
    """What comes back to the rows of a ragged tensor, put together."""
    nested, (dtype, values) = ragged(m, 1)
    kind = m.choice(["int32", "int64"])
    splits = m.integers(nested[0], kind)
    made = m.call(
        "RaggedTensorToVariant",
        {"rt_nested_splits": [splits], "rt_dense_values": (dtype, values)},
        batched_input=True,
    )
    m.call(
        "RaggedTensorToVariantGradient",
        {
            "encoded_ragged_grad": made,
            "row_splits": splits,
            "dense_values_shape": m.integers(values.shape),
        },
        Tvalues=m.dtype,
    )


def fill_rows(m):
    rows = int(m.rng.integers(0, 5))
    number = int(m.rng.integers(0, 6)) if rows else int(m.one_in(4))
    ids = np.sort(m.rng.integers(0, max(rows, 1) + int(m.one_in(12)), number))
    if m.one_in(12):
        ids = ids[::-1]
    return {
        "value_rowids": m.integers(ids, "int64"),
        "values": m.values((number + int(m.one_in(12)),)),
        "nrows": m.integers(rows, "int64"),
        "default_value": m.values(()),
    }, {}


def fill_rows_grad(m):
    limit = 7 if m.one_in(8) else 6
    places = m.rng.permutation(limit)[:4]
    return {"reverse_index_map": m.integers(places, "int64"), "grad_values": m.values((6,))}, {}


def ragged_column(m, batch, kind, splits):
    lengths = m.rng.integers(0, 4, batch + int(m.one_in(20)))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return m.values((int(ends[-1]),), dtype=kind), m.integers(ends, splits)


def crossed(m):
    """Columns of a batch in some order: ragged, sparse and dense ones."""
    batch, is_hashed = int(m.rng.integers(1, 4)), flag(m)
    # TensorFlow ends on splits of another type than its own.
    splits_type = m.choice(["int32", "int64"])
    kinds = ["int64", "string"] if is_hashed or not m.one_in(8) else ["string"]
    order = "".join(m.choice("RSD") for _ in range(m.choice([1, 2, 3])))
    given = {name: [] for name in ("ragged_values", "ragged_row_splits", *SPARSE, "dense_inputs")}
    for column in order:
        kind = m.choice(kinds)
        if column == "R":
            values, splits = ragged_column(m, batch, kind, splits_type)
            given["ragged_values"].append(values)
            given["ragged_row_splits"].append(splits)
        elif column == "S":
            dims = [batch + int(m.one_in(20)), int(m.rng.integers(1, 4))]
            indices = places(m, dims)
            parts = (m.integers(indices, "int64"), m.values((len(indices),), dtype=kind))
            for name, part in zip(SPARSE, (*parts, m.integers(dims, "int64"))):
                given[name].append(part)
        else:
            given["dense_inputs"].append(m.values((batch, int(m.rng.integers(1, 3))), dtype=kind))
    return given, {
        "input_order": order[::-1] + "D" if m.one_in(20) else order,
        "hashed_output": is_hashed,
        "num_buckets": int(m.choice([0, 10, 1 << 40])),
        "hash_key": int(m.rng.integers(0, 1 << 62)),
        "out_values_type": ("int64" if is_hashed else "string") if not m.one_in(12) else "int64",
        "out_row_splits_type": splits_type,
    }


TABLE = [
    Row("SerializeSparse", EVERY, serialize),
    Row("SerializeManySparse", EVERY, serialize_many),
    StoryRow("DeserializeSparse", EVERY, read),
    StoryRow("DeserializeManySparse", EVERY, read_many),
    StoryRow("AddSparseToTensorsMap", EVERY, kept_story),
    StoryRow("AddManySparseToTensorsMap", EVERY, kept_rows_story),
    StoryRow("TakeManySparseFromTensorsMap", ["float32", "string"], wrong_take),
    Row("SparseAddGrad", ["float32", "float64", "int32", "int64", "int8", "complex64"], add_grad),
    Row("SparseSliceGrad", NUMBERS, slice_grad),
    StoryRow("RaggedTensorToVariant", EVERY, variant_story),
    StoryRow("RaggedTensorFromVariant", EVERY, variant_story),
    *(StoryRow(op, EVERY, composite_story) for op in COMPOSITES),
    StoryRow("RaggedTensorToVariantGradient", NUMBERS, variant_gradient_story),
    Row("RaggedFillEmptyRows", EVERY, fill_rows, gradient=True),
    Row("RaggedFillEmptyRowsGrad", NUMBERS, fill_rows_grad),
    Row("RaggedCross", ["string"], crossed),
]

REASONS = {
    (
        "RaggedFillEmptyRows",
        "output 0: array([], shape=(0, 1)",
    ): "of no rows its places are a matrix",
}

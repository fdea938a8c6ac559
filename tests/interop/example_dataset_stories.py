"""Stories of datasets of tf.train.Examples that are parsed, a batch each."""

from cases import stories_of
from dataset_stories import Data, flag, int64
from parsing_cases import default_of, example, kinds_of, texts


def batches(m, kinds, size):
    """Of bytes of Examples, most of which can be parsed."""
    value = texts([example(m, kinds) for _ in range(int(m.rng.integers(0, 6)))])
    handle = m.call("TensorSliceDataset", {"components": [value]}, output_shapes=[[]])
    given = {"batch_size": int64(m, size), "drop_remainder": flag(m)}
    return Data(m, handle, ["string"], [[]], 0).then("BatchDatasetV2", given, shapes=[[None]])


def walk_parsed(m, handle, attrs, kinds, splits):
    """Elements as what they stand for: a variant is nothing that a step gives."""
    iterator = m.call("IteratorV2", shared_name="", container="", **attrs)
    m.call("MakeIterator", {"dataset": handle, "iterator": iterator})
    for _ in range(4):
        m.call("IteratorGetNext", {"iterator": iterator}, is_part=True, **attrs)
        element = [m.made(len(m.calls) - 1, i) for i in range(len(attrs["output_types"]))]
        parts = element[:1]
        if splits:
            boxed = {"encoded_ragged": element[1]}
            told = {"input_ragged_rank": 1, "output_ragged_rank": 1}
            told |= {"Tvalues": kinds[2], "Tsplits": splits, "is_part": True}
            m.call("RaggedTensorFromVariant", boxed, **told)
            parts += [m.made(len(m.calls) - 1, i) for i in range(2)]
        boxed = {"serialized_sparse": element[-1]}
        m.call("DeserializeSparse", boxed, dtype=kinds[0], is_part=True)
        parts += [m.made(len(m.calls) - 1, i) for i in range(3)]
        m.call("IdentityN", {"input": parts})


def parsed_story(m, op):
    """A dense "d", a ragged "r" where the op knows of such, and a sparse "v"."""
    kinds = kinds_of(m)
    data = batches(m, kinds, int(m.rng.integers(1, 4)))
    splits = None if op.startswith("Experimental") else m.choice(["int32", "int64"])
    shape = m.choice([[2], [2], [None], [1, 2]])
    default = m.values((1,), dtype=kinds[1]) if None in shape else default_of(m, kinds[1])
    told = {
        "sparse_keys": ["v"],
        "dense_keys": ["d" if not m.one_in(16) else "v"],
        "sparse_types": kinds[:1],
        "dense_shapes": [shape],
        "output_types": [kinds[1], *(["variant"] if splits else []), "variant"],
        "output_shapes": [[None, *shape], *([[]] if splits else []), [3]],
    }
    attrs = {name: told[name] for name in ("output_types", "output_shapes")}
    if splits:
        told |= {"ragged_keys": ["r"], "ragged_value_types": kinds[2:]}
        told["ragged_split_types"] = [splits]
    if op.endswith("V2"):
        told["deterministic"] = m.choice(["true", "default"])
    calls = int64(m, m.choice([1, 2, -1, 0 if m.one_in(6) else 3]))
    given = {"input_dataset": data.handle, "num_parallel_calls": calls, "dense_defaults": [default]}
    walk_parsed(m, m.call(op, given, **told), attrs, kinds, splits)


NAMES = "ParseExampleDataset ParseExampleDatasetV2 ExperimentalParseExampleDataset"

TABLE = stories_of(NAMES, ["string"], parsed_story)

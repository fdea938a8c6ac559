"""Stories of accumulators: gradients come, some too late, are counted and taken."""

import numpy as np

from cases import StoryRow

TYPES = ["float32", "float64", "float16"]


def accumulator(m, op, shape):
    """Its handle, and the shape that gradients are to have."""
    dims = [None if m.one_in(4) else dim for dim in shape]
    declared = None if m.one_in(6) else dims
    attrs = {"reduction_type": m.choice(["MEAN", "SUM"])} if m.one_in(2) else {}
    if m.one_in(3):
        attrs["shared_name"] = "a"
    return m.call(op, dtype=m.dtype, shape=declared, hides=True, **attrs)


def scalar(m, value, dtype="int64"):
    """Of that value; now and then no scalar."""
    return m.integers([value] if m.one_in(24) else value, dtype)


def told(m, op, make, apply, take):
    """What came is counted and taken, twice at most; a taking moves the step on."""
    prefix = "Resource" if op.startswith("Resource") else ""
    shape = m.shape(ranks=(0, 1, 2) if "Sparse" not in op else (1, 2), least=1)
    handle = {"handle": accumulator(m, make, shape)}
    now = 0
    for _ in range(m.choice([1, 2])):
        if m.one_in(3):
            now += m.choice([-1, 0, 1, 2])
            step = scalar(m, now)
            m.call(f"{prefix}AccumulatorSetGlobalStep", {**handle, "new_global_step": step})
        number = int(m.rng.integers(1, 4))
        for _ in range(number):
            step = scalar(m, now - 1 if m.one_in(6) else now + m.choice([0, 1]))
            apply(m, {**handle, "local_step": step}, shape, prefix)
        m.call(f"{prefix}AccumulatorNumAccumulated", handle)
        required = int(m.rng.integers(-1, 4)) if m.one_in(8) else 1
        inputs = {**handle, "num_required": scalar(m, required, "int32")}
        m.call(take, inputs, waits=True, dtype=m.dtype)
        now += 1
    m.call(f"{prefix}AccumulatorNumAccumulated", handle)


def apply_dense(m, inputs, shape, prefix):
    given = (*shape, 2) if m.one_in(10) else shape
    # Of the accumulator's type: of another one TensorFlow dies.
    m.call(f"{prefix}AccumulatorApplyGradient", {**inputs, "gradient": m.values(given)})


def apply_rows(m, inputs, shape, prefix):
    number = int(m.rng.integers(0, shape[0] + 1))
    indices = np.sort(m.rng.permutation(shape[0])[:number])
    if m.one_in(12) and number:
        indices[-1] = shape[0]
    knows = bool(m.one_in(2))
    known = (*shape[:-1], shape[-1] + 1) if m.one_in(12) else shape
    values = (number + 1 if m.one_in(12) else number, *shape[1:])
    given = {
        **inputs,
        "gradient_indices": m.integers(indices, "int64"),
        "gradient_values": m.values((*values, 2) if m.one_in(12) else values),
        "gradient_shape": m.integers(known if knows else [], "int64"),
    }
    m.call("SparseAccumulatorApplyGradient", given, has_known_shape=knows)


def story_of(op):
    if "Sparse" in op:
        ops = ("SparseConditionalAccumulator", apply_rows, "SparseAccumulatorTakeGradient")
    elif op.startswith("Resource"):
        ops = ("ResourceConditionalAccumulator", apply_dense, "ResourceAccumulatorTakeGradient")
    else:
        ops = ("ConditionalAccumulator", apply_dense, "AccumulatorTakeGradient")
    return StoryRow(op, TYPES, lambda m: told(m, op, *ops))


KINDS = "ConditionalAccumulator AccumulatorApplyGradient AccumulatorNumAccumulated"
STEPS = "AccumulatorSetGlobalStep AccumulatorTakeGradient"
SPARSE = "SparseConditionalAccumulator SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient"

TABLE = [
    story_of(f"{prefix}{op}") for prefix in ("", "Resource") for op in f"{KINDS} {STEPS}".split()
] + [story_of(op) for op in SPARSE.split()]

"""Candidate samplers with the same seeds, accidental hits, and the random ops that are left."""

from cases import FLOATS, Row, WIDE, rows_of


def seeds(m):
    return {"seed": int(m.rng.integers(1, 1000)), "seed2": int(m.rng.integers(1, 1000))}


# --- candidates ---


def classes(m, num_true, limit):
    """Of a batch; some of them out of range, or too few of each."""
    shape = (int(m.rng.integers(0, 5)), num_true + (1 if m.one_in(12) else 0))
    made = m.rng.integers(0, limit, shape)
    if m.one_in(10) and made.size:
        made.flat[0] = m.choice([-1, limit, limit + 7])
    return m.integers(made, "int64")


def candidates(m, range_max=None):
    limit = range_max or int(m.rng.integers(1, 60))
    num_true = int(m.rng.integers(1, 4))
    is_unique = bool(m.one_in(2))
    most = limit + (2 if m.one_in(8) else 1) if is_unique else 60
    attrs = {
        "num_true": num_true,
        "num_sampled": int(m.rng.integers(1, max(2, most))),
        "unique": is_unique,
        "range_max": limit,
        **seeds(m),
    }
    return {"true_classes": classes(m, num_true, limit)}, attrs


def by_weights(m):
    """Classes with weights, some of which are reserved and some another shard's."""
    number = int(m.rng.integers(1, 12))
    reserved = m.choice([0, 0, 1, 3])
    shards = m.choice([1, 1, 2])
    shard = int(m.rng.integers(0, shards + (1 if m.one_in(16) else 0)))
    own = len([word for word in range(reserved + number) if word % shards == shard])
    limit = own + (1 if m.one_in(12) else 0)
    inputs, attrs = candidates(m, max(1, limit))
    if attrs["unique"]:  # as many as have a weight
        weighted = len([w for w in range(reserved, reserved + number) if w % shards == shard])
        attrs["num_sampled"] = max(1, min(attrs["num_sampled"], weighted))
    weights = [float(weight) for weight in m.rng.integers(1, 40, number)]
    return inputs, {
        **attrs,
        "unigrams": weights,
        "distortion": m.choice([1.0, 0.75, 0.0]),
        "num_reserved_ids": reserved,
        "num_shards": shards,
        "shard": shard,
    }


def all_candidates(m):
    inputs, attrs = candidates(m)
    number = attrs.pop("range_max")
    return inputs, {**attrs, "num_sampled": number}


def accidental_hits(m):
    num_true = int(m.rng.integers(1, 4))
    shape = (int(m.rng.integers(0, 4)), num_true + (1 if m.one_in(10) else 0))
    drawn = m.rng.permutation(10)[: int(m.rng.integers(0, 9))]
    return {
        "true_classes": m.integers(m.rng.integers(0, 10, shape), "int64"),
        "sampled_candidates": m.integers(drawn.reshape(-1, 1) if m.one_in(12) else drawn, "int64"),
    }, {"num_true": num_true, **(seeds(m) if m.one_in(2) else {})}


# --- random numbers ---


def multinomial(m):
    shape = (int(m.rng.integers(0, 4)), int(m.rng.integers(0 if m.one_in(8) else 1, 6)))
    logits = m.values((*shape, 1) if m.one_in(12) else shape)
    number = m.choice([0, 1, 5, 40, -1 if m.one_in(4) else 2])
    attrs = {"output_dtype": m.choice(["int32", "int64"]), **seeds(m)}
    return {
        "logits": logits,
        "num_samples": m.integers([number] if m.one_in(16) else number),
    }, attrs


def truncated(m):
    """Means and bounds one by one, or of all; a bound far outside, or none; bounds that cross."""
    batch = int(m.rng.integers(1, 4))
    shape = (batch, m.choice([1, 3, 8]))
    each = m.choice([(), (1,), (batch,), (batch + 1,) if m.one_in(4) else ()])
    low = m.choice([-30, -2, 0, 3])
    inputs = {
        "shape": m.integers(m.choice([shape, (*shape, 2), (batch,)]), m.choice(["int32", "int64"])),
        "means": m.values(each, -1, 1),
        "stdevs": m.values(each, -1 if m.one_in(8) else 0.5, 2),
        "minvals": m.values(each, low, low),
        "maxvals": m.values(each, low - 1 if m.one_in(12) else low + 1, low + 4),
    }
    return inputs, seeds(m)


def gamma_gradient(m):
    return {"alpha": m.values((4,), 0.1, 6), "sample": m.values((4,), 0.01, 6)}, {}


def poisson(m):
    few = m.choice([(), (2,), (0,), (1, 2)])
    shape = m.integers(m.choice([[], [3], [2, 2], [0]]), m.choice(["int32", "int64"]))
    rates = m.values(few, -3 if m.one_in(8) else 0, m.choice([3, 30]))
    return {"shape": shape, "rate": rates}, seeds(m)


def poisson_v2(m):
    inputs, attrs = poisson(m)
    return inputs, {**attrs, "dtype": m.choice(["float16", "float32", "float64", "int32", "int64"])}


RATES = ["float16", "float32", "float64"]

TABLE = [
    *rows_of(
        "UniformCandidateSampler LogUniformCandidateSampler LearnedUnigramCandidateSampler "
        "ThreadUnsafeUnigramCandidateSampler",
        ["int64"],
        candidates,
        tolerance=10,
    ),
    Row("FixedUnigramCandidateSampler", ["int64"], by_weights, tolerance=10),
    Row("AllCandidateSampler", ["int64"], all_candidates),
    Row("ComputeAccidentalHits", ["int64"], accidental_hits),
    Row("Multinomial", [*FLOATS, "int32", "int64", "uint8"], multinomial),
    Row("ParameterizedTruncatedNormal", FLOATS, truncated, tolerance=10),
    Row("RandomGammaGrad", WIDE, gamma_gradient, tolerance=10),
    Row("RandomPoisson", RATES, poisson),
    Row("RandomPoissonV2", [*RATES, "int32", "int64"], poisson_v2),
]

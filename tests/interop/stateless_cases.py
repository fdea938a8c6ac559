"""Random numbers that a seed alone tells, or a key and a counter: those whose distributions have parameters."""

from cases import ANY, Row, rows_of

RATES = ["float16", "float32", "float64"]
COUNTS = [*RATES, "int32", "int64"]


def seed(m):
    """Two numbers; now and then one, or three."""
    size = m.choice([1, 3]) if m.one_in(16) else 2
    return m.integers(m.rng.integers(-900, 900, size), m.choice(["int32", "int64"]))


def stream(m):
    """A key and a counter, and how bits are made of them; now and then by what no CPU has.

    Of a counter of one number TensorFlow reads the next one, too.
    """
    counter = 0 if m.one_in(16) else m.choice([2, 2, 3])
    return {
        "key": m.values((1,), 0, 900, "uint64"),
        "counter": m.values((counter,), 0, 900, "uint64"),
        "alg": m.integers(m.choice([0, 2, 4]) if m.one_in(8) else m.choice([1, 3])),
    }


def shapes(m):
    """(shape of what is asked for, shape of a parameter): the latter is the former's end, mostly."""
    shape = m.shape(ranks=(0, 1, 2), most=5)
    parameter = shape[int(m.rng.integers(len(shape) + 1)) :]
    if m.one_in(10):
        parameter = (*parameter, 7)
    return m.integers(shape, m.choice(["int32", "int64"])), parameter


def binomial(m):
    kind = m.choice(COUNTS)
    shape, each = shapes(m)
    most = m.choice([5, 300])
    return {
        "shape": shape,
        "seed": seed(m),
        "counts": m.values(each, 0, most, kind),
        "probs": m.values(() if m.one_in(4) else each, 0, 1, kind),
    }, {"dtype": m.dtype}


def poisson(m):
    shape, each = shapes(m)
    rates = m.values(each, -1 if m.one_in(8) else 0, m.choice([3, 60]), m.choice(COUNTS))
    return {"shape": shape, "seed": seed(m), "lam": rates}, {"dtype": m.dtype}


def gamma(m):
    shape, each = shapes(m)
    return {"shape": shape, "seed": seed(m), "alpha": m.values(each, 0.1, 4)}, {}


def gamma_of_stream(m):
    shape, each = shapes(m)
    return {"shape": shape, **stream(m), "alpha": m.values(each, 0.1, 4)}, {}


def integers_of_stream(m):
    low, high = (900, -5) if m.one_in(12) else (-5, 900)
    low = low if m.dtype.startswith("int") else abs(low)
    high = high if m.dtype.startswith("int") else abs(high)
    shape, _ = shapes(m)
    return {
        "shape": shape,
        **stream(m),
        "minval": m.integers(low, m.dtype),
        "maxval": m.integers(high, m.dtype),
    }, {}


def shuffled(m):
    return {"value": m.values(m.shape(ranks=(0, 1, 2), most=9)), **stream(m)}, {}


def index_in_shuffle(m):
    """Where one index goes, or several do, among that many."""
    shape = m.choice([(), (), (3,)])
    most = int(m.choice([0, 1, 6, 100, 5000]))
    index = m.rng.integers(0, most + 1, shape) + (most + 1 if m.one_in(12) else 0)
    key = m.rng.integers(0, 900, m.choice([(2,), (3,)]) if m.one_in(12) else (3,))
    # After an odd number of rounds TensorFlow reads a key that it has not made.
    rounds = {"rounds": int(m.choice([4, 6, 8]))} if m.one_in(2) else {}
    return {
        "index": m.integers(index, m.dtype),
        "seed": m.integers(key, m.choice(["int32", "int64", "uint32", "uint64"])),
        "max_index": m.integers(most, m.dtype),
    }, rounds


def seed_alone(m):
    return {"seed": seed(m)}, {}


def nothing(m):
    return {}, {}


TABLE = [
    Row("StatelessRandomBinomial", COUNTS, binomial),
    Row("StatelessRandomPoisson", COUNTS, poisson),
    Row("StatelessRandomGammaV2", RATES, gamma, tolerance=10),
    Row("StatelessRandomGammaV3", RATES, gamma_of_stream, tolerance=10),
    Row("StatelessRandomUniformIntV2", ["int32", "int64", "uint32", "uint64"], integers_of_stream),
    Row("StatelessShuffle", ANY, shuffled),
    Row("RandomIndexShuffle", ["int32", "int64", "uint32", "uint64"], index_in_shuffle),
    Row("StatelessRandomGetKeyCounterAlg", ["int64"], seed_alone),
    *rows_of("StatelessRandomGetAlg", ["int32"], nothing),
]

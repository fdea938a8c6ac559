"""Stories of generators: a variable holds the state, ops draw numbers out of it and move it on."""

from cases import FLOATS, StoryRow, stories_of
from variable_stories import resource

PHILOX, THREEFRY, AUTO = 1, 2, 3


def generator(m, sizes=(3, 3, 4)):
    """Its variable, with a state that is long enough; now and then of the wrong shape."""
    shape = m.choice([(2,), (1, 3), ()]) if m.one_in(16) else (m.choice(sizes),)
    most = 2**62
    state = m.integers(m.rng.integers(-most, most, shape), "int64")
    if m.one_in(6):
        state[1][...] = -1  # the counter runs over
    return resource(m, shape, None if m.one_in(16) else state, dtype="int64")


def algorithm(m, dtype="int64"):
    made = PHILOX if not m.one_in(5) else m.choice([AUTO, THREEFRY, 0, 4])
    return m.integers([made] if m.one_in(20) else made, dtype)


def shape_of(m):
    shape = m.choice([(), (3,), (2, 5), (0,), (70,), (2, 3, 4)])
    dims = [-1, 2] if m.one_in(16) else shape
    return m.integers(dims, m.choice(["int32", "int64"]))


def drawn(m, op, **more):
    """Twice, and then the state is read."""
    handle = generator(m)
    for _ in range(2):
        inputs = {"resource": handle, "algorithm": algorithm(m), "shape": shape_of(m)}
        given = {name: make() for name, make in more.items()}
        # Bounds tell the type by themselves.
        m.call(op, {**inputs, **given}, **({} if given else {"dtype": m.dtype}))
    m.call("ReadVariableOp", {"resource": handle}, dtype="int64")


def uniform_ints(m):
    low = int(m.rng.integers(0, 100))
    high = low + int(m.rng.integers(0 if m.one_in(8) else 1, 1000))

    def bound(value):
        return lambda: m.integers([value] if m.one_in(20) else value, m.dtype)

    drawn(m, "StatefulUniformInt", minval=bound(low), maxval=bound(high))


def old_normal(m):
    """The op of old takes no algorithm: the state begins with it."""
    state = m.integers(m.rng.integers(-(2**62), 2**62, m.choice([3, 4, 4, 5])), "int64")
    state[1][0] = algorithm(m)[1].flat[0]
    handle = resource(m, None, state, dtype="int64")
    for _ in range(2):
        m.call("StatefulStandardNormal", {"resource": handle, "shape": shape_of(m)}, dtype=m.dtype)
    m.call("ReadVariableOp", {"resource": handle}, dtype="int64")


def binomial(m):
    """Counts and probabilities of one type, whatever is drawn."""
    state = m.integers(m.rng.integers(-(2**62), 2**62, (3,)), "int64")
    # TensorFlow does not move a state on that it holds together with who feeds it.
    own = m.call("AddV2", {"x": state, "y": m.values((), 0, 0, "int64")})
    handle = resource(m, (3,), own, dtype="int64")
    kind = m.choice(["float32", "float64", "float16"])
    for _ in range(2):
        few = m.choice([(), (2,), (1, 2)])
        counts = m.values(few, 0, 40, dtype=kind)
        counts = kind, counts[1].round()
        inputs = {
            "resource": handle,
            "algorithm": algorithm(m),
            # TensorFlow dies of one of int64.
            "shape": m.integers((3,) if m.one_in(10) else (3, *few)),
            "counts": counts,
            "probs": m.values(few if not m.one_in(4) else (), 0, 1, dtype=kind),
        }
        m.call("StatefulRandomBinomial", inputs, dtype=m.dtype)
    m.call("ReadVariableOp", {"resource": handle}, dtype="int64")


def skip(m):
    handle = generator(m)
    for _ in range(2):
        delta = int(m.rng.integers(0, 2 ** m.choice([3, 40, 60])))
        delta = m.integers([delta] if m.one_in(16) else delta, "int64")
        m.call("RngSkip", {"resource": handle, "algorithm": algorithm(m), "delta": delta})
        m.call("ReadVariableOp", {"resource": handle}, dtype="int64")


def read_and_skip(m):
    """TensorFlow writes a state that is longer than it needs beyond its end."""
    handle = generator(m, sizes=(3,))
    for _ in range(2):
        delta = int(m.rng.integers(0, 2 ** m.choice([3, 40, 60])))
        delta = m.integers([delta] if m.one_in(16) else delta, "uint64")
        inputs = {"resource": handle, "alg": algorithm(m, "int32"), "delta": delta}
        m.call("RngReadAndSkip", inputs)
    m.call("ReadVariableOp", {"resource": handle}, dtype="int64")


def no_seed(m):
    """Nobody knows which numbers."""
    given = m.integers(m.choice([[], [3], [2, 0], [-1]]), m.choice(["int32", "int64"]))
    m.call("NonDeterministicInts", {"shape": given}, dtype=m.dtype, hides=True)


UNSIGNED = ["int32", "int64", "uint32", "uint64"]

TABLE = [
    *stories_of(
        "StatefulUniform StatefulStandardNormalV2 StatefulTruncatedNormal",
        FLOATS,
        drawn,
        tolerance=10,
    ),
    StoryRow("StatefulStandardNormal", FLOATS, old_normal, tolerance=10),
    StoryRow("StatefulUniformFullInt", UNSIGNED, lambda m: drawn(m, "StatefulUniformFullInt")),
    StoryRow("StatefulUniformInt", UNSIGNED, uniform_ints),
    StoryRow(
        "StatefulRandomBinomial", ["float16", "float32", "float64", "int32", "int64"], binomial
    ),
    StoryRow("RngSkip", ["int64"], skip),
    StoryRow("RngReadAndSkip", ["int64"], read_and_skip),
    StoryRow("NonDeterministicInts", UNSIGNED, no_seed),
]

"""What a case of an op is, a story of several calls, and the rows of tables that make them, from a seed.

A case is one op with its inputs. A story is several calls, one after another in one session, on what the
first of them make: variables, queues, tables. Rows stand in TABLEs, which rows.py finds.
"""

import dataclasses
import zlib

import numpy as np

FLOATS = ["float32", "float64", "float16", "bfloat16"]
WIDE = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SIGNED = ["int32", "int64", "int8", "int16"]
INTEGERS = [*SIGNED, "uint8", "uint16", "uint32", "uint64"]
REAL = [*FLOATS, *INTEGERS]
NUMBERS = [*REAL, *COMPLEX]
ANY = ["float32", "int64", "complex64", "bool", "string", "float16", "uint8"]


@dataclasses.dataclass
class Case:
    op: str
    inputs: dict  # name: (type, array), or a list of them
    attrs: dict
    wants_gradient: bool = False
    tolerance: float = 1.0  # times what the type allows

    def packed(self):
        return packed(dataclasses.asdict(self))

    @classmethod
    def unpacked(cls, fields):
        return cls(**unpacked(fields))

    def given(self):
        """The values of all inputs: (type, array) each."""
        return given_by(self)


@dataclasses.dataclass
class Call:
    """One op of a story. Its inputs may be what an earlier call makes: (".", the call, the output).

    With "=" for "." the value that it gave is fed: a later step does not run that call again.
    """

    op: str
    inputs: dict
    attrs: dict
    waits: bool = False  # it may wait for ever: so it is given a short time
    wants_gradient: bool = False  # by all that the story has fed
    hides: bool = False  # what it gives is nobody's business: whether it does is compared
    after: list = ()  # calls that run before it in the same step
    is_part: bool = False  # of something that makes sense as a whole: it is made, and not run
    closes: int = -1  # the call of a Merge, whose second input it is from now on: that of a loop

    given = Case.given


@dataclasses.dataclass
class Story:
    op: str  # of which it tells
    calls: list
    tolerance: float = 1.0

    def packed(self):
        return packed(dataclasses.asdict(self))

    @classmethod
    def unpacked(cls, fields):
        fields = unpacked(fields)
        calls = [Call(**call) for call in fields["calls"]]
        return cls(**{**fields, "calls": calls})


def is_made(given):
    """An input that an earlier call of the story makes."""
    return isinstance(given, tuple) and given[0] in (".", "=")


def given_by(call):
    for given in call.inputs.values():
        for each in given if isinstance(given, list) else [given]:
            if not is_made(each):
                yield each


def packed(value):
    """The same without NumPy's objects, whose pickles one NumPy writes and another can't read."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        kept = list(array.ravel()) if array.dtype == object else array.tobytes()
        return ("array", array.dtype.str, array.shape, kept)
    if isinstance(value, dict):
        return {key: packed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(packed(each) for each in value)
    return value


def unpacked(value):
    if isinstance(value, tuple) and len(value) == 4 and value[0] == "array":
        _, dtype, shape, kept = value
        if isinstance(kept, list):
            made = np.empty(len(kept), object)
            made[:] = kept
        else:
            made = np.frombuffer(kept, dtype)
        return made.reshape(shape)
    if isinstance(value, dict):
        return {key: unpacked(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(unpacked(each) for each in value)
    return value


class Maker:
    """Values for one case, of one type."""

    def __init__(self, rng, dtype):
        self.rng, self.dtype = rng, dtype

    def one_in(self, n):
        return self.rng.integers(n) == 0

    def choice(self, of):
        return of[self.rng.integers(len(of))]

    def shape(self, ranks=(0, 1, 2, 3), most=4, least=0):
        dims = [int(self.rng.integers(least, most + 1)) for _ in range(self.choice(list(ranks)))]
        return tuple(dims)

    def values(self, shape=None, low=-3, high=3, dtype=None):
        dtype = dtype or self.dtype
        shape = self.shape() if shape is None else shape
        if dtype == "string":
            return dtype, self.rng.choice([b"", b"a", b"bc"], shape).astype(object)
        if dtype == "bool":
            return dtype, self.rng.integers(0, 2, shape).astype(bool)
        if "int" in dtype:
            low = max(low, 0) if dtype.startswith("u") else low
            return dtype, self.rng.integers(low, high + 1, shape).astype(dtype)
        drawn = self.rng.uniform(low, high, shape)
        if dtype.startswith("complex"):
            return dtype, (drawn + 1j * self.rng.uniform(low, high, shape)).astype(dtype)
        stored = "float32" if dtype == "bfloat16" else dtype
        # Few bits, so that every type holds the number that was drawn.
        rounded = np.round(drawn * 16) / 16 if dtype in ("bfloat16", "float16") else drawn
        return dtype, np.asarray(rounded, stored)

    def indices(self, shape, limit, dtype=None):
        dtype = dtype or self.choice(["int32", "int64"])
        return dtype, self.rng.integers(0, max(limit, 1), shape).astype(dtype)

    def integers(self, values, dtype="int32"):
        return dtype, np.asarray(values, dtype)

    def broadcasting(self):
        whole = self.shape(ranks=(1, 2, 3), least=1)
        other = tuple(1 if self.one_in(3) else dim for dim in whole)[
            self.rng.integers(len(whole)) :
        ]
        return (whole, other) if self.one_in(2) else (other, whole)


@dataclasses.dataclass
class Row:
    op: str
    types: list
    make: callable  # (Maker) -> (inputs, attrs)
    gradient: bool = False
    tolerance: float = 1.0

    def cases(self, count, seed):
        rng = np.random.default_rng([seed, zlib.crc32(self.op.encode())])
        for number in range(count):
            maker = Maker(rng, self.types[number % len(self.types)])
            inputs, attrs = self.make(maker)
            wants = self.gradient and ("float" in maker.dtype or "complex" in maker.dtype)
            yield Case(self.op, inputs, attrs, wants and maker.dtype != "bfloat16", self.tolerance)


def unary(low=-3, high=3, name="x"):
    return lambda m: ({name: m.values(low=low, high=high)}, {})


def binary(low=-3, high=3, names=("x", "y"), second=None):
    def make(m):
        one, other = m.broadcasting()
        if m.one_in(8):
            one, other = (2, 3), (4,)
        bounds = second or (low, high)
        return {names[0]: m.values(one, low, high), names[1]: m.values(other, *bounds)}, {}

    return make


def rows_of(names, types, make, **options):
    return [Row(name, types, make, **options) for name in names.split()]


CALL_FIELDS = ("waits", "hides", "after", "is_part", "closes")


class Teller(Maker):
    """Values for one story, and the calls that it is told of."""

    def __init__(self, rng, dtype):
        super().__init__(rng, dtype)
        self.calls = []

    def call(self, op, inputs=None, output=0, gradient=False, **told):
        """Returns the output of that number, for later calls; `made` gives others.

        Args:
          told: fields of a Call, and attributes of the op.
        """
        fields = {key: told.pop(key) for key in CALL_FIELDS if key in told}
        self.calls.append(Call(op, inputs or {}, told, wants_gradient=gradient, **fields))
        return self.made(len(self.calls) - 1, output)

    def made(self, call, output=0):
        return (".", call, output)


@dataclasses.dataclass
class StoryRow:
    op: str
    types: list
    tell: callable  # (Teller); its calls are the story
    tolerance: float = 1.0

    def cases(self, count, seed):
        rng = np.random.default_rng([seed, zlib.crc32(self.op.encode())])
        for number in range(count):
            teller = Teller(rng, self.types[number % len(self.types)])
            self.tell(teller)
            yield Story(self.op, teller.calls, self.tolerance)


def stories_of(names, types, tell, **options):
    """Of ops that are called alike: `tell` is given the op's name, too."""
    return [
        StoryRow(name, types, lambda teller, name=name: tell(teller, name), **options)
        for name in names.split()
    ]

"""tf.random.Generator: random values whose state is a variable."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops import arrays
from millrace._ops.arithmetic import cast
from millrace._ops.random_values import sizes_of
from millrace._ops.reductions import reduce_prod
from millrace._state.variables import Variable
from millrace._values import dtypes

# A state is two int64 that count and one that is the key.
_STATE_SIZE = 3
_COUNTER_SIZE = 2
_BITS = 64
_ALGORITHMS = {"philox": 1, 1: 1, "auto_select": 3, 3: 3}


def _algorithm(alg):
    found = _ALGORITHMS.get(alg)
    if found is None:
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are 1 or 'philox' for the "
            "Philox algorithm, and 3 or 'auto_select' for whichever the device has."
        )
    return found


def _signed(number):
    """An integer of 64 bits as an int64."""
    if isinstance(number, (list, tuple)):
        return [_signed(each) for each in number]
    is_large = isinstance(number, int) and number >= 1 << (_BITS - 1)
    return number - (1 << _BITS) if is_large else number


def create_rng_state(seed, alg):
    """The state that a generator begins with.

    Args:
      seed: an integer of any size, or a vector of integers; what is too short is filled up with zeros
        on the left.
      alg: 1 or "philox".

    Returns:
      an int64 Tensor of shape [3].
    """
    _algorithm(alg)
    if isinstance(seed, int):
        seed = [(seed >> (_BITS * i)) % (1 << _BITS) for i in range(_STATE_SIZE)]
    state = arrays.reshape(cast(convert(_signed(seed), hint=dtypes.int64), dtypes.int64), [-1])
    state = state[:_STATE_SIZE]
    missing = _STATE_SIZE - arrays.shape(state)[0]
    state = arrays.concat([arrays.zeros(arrays.reshape(missing, [1]), dtypes.int64), state], 0)
    state.set_shape([_STATE_SIZE])
    return state


class Generator:
    """Gives random values, other ones with each run: its state moves on.

    Run the initializer of `state` (or tf.global_variables_initializer) first. Make one with a class
    method, or from another one, whose state is copied.

    Args:
      copy_from: a Generator.
      state: a vector of three int64, or a resource variable of them.
      alg: 1 or "philox".

    Attributes:
      state: the variable.
      algorithm: the number of the algorithm.
    """

    def __init__(self, copy_from=None, state=None, alg=None):
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("a Generator is made from another one, or of a state and an alg")
            state, alg = copy_from.state.initialized_value(), copy_from.algorithm
        if state is None or alg is None:
            raise ValueError("a Generator needs a state and an alg; Generator.from_seed makes both")
        self.algorithm = _algorithm(alg)
        if not isinstance(state, Variable):
            state = cast(convert(_signed(state), hint=dtypes.int64), dtypes.int64)
            state.shape.assert_is_compatible_with([_STATE_SIZE])
            with name_scope("random_generator"):
                state = Variable(
                    state, trainable=False, use_resource=True, name="StateVar", dtype=dtypes.int64
                )
        self.state = state

    @classmethod
    def from_state(cls, state, alg):
        """A Generator of a given state, a vector of three int64."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed, alg=1):
        """A Generator whose state a seed decides, an integer or a vector of integers."""
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=1):
        """A Generator whose state chance decides when it is initialized."""
        return cls(state=gen_ops.non_deterministic_ints([_STATE_SIZE], dtypes.int64), alg=alg)

    @classmethod
    def from_key_counter(cls, key, counter, alg):
        """A Generator of a key, a scalar, and a counter, a vector of two."""
        return cls(state=_joined(key, counter), alg=alg)

    def reset(self, state):
        """An Operation that gives the generator another state."""
        return self.state.assign(cast(convert(_signed(state), hint=dtypes.int64), dtypes.int64)).op

    def reset_from_seed(self, seed):
        """An Operation that gives the generator the state that a seed decides."""
        return self.state.assign(create_rng_state(seed, self.algorithm)).op

    def reset_from_key_counter(self, key, counter):
        """An Operation that gives the generator another key and counter."""
        return self.state.assign(_joined(key, counter)).op

    @property
    def key(self):
        """The key, an int64 scalar."""
        return self.state.read_value()[-1]

    def skip(self, delta):
        """The state; then the generator moves on as if `delta` values had been drawn."""
        return gen_ops.rng_read_and_skip(
            self.state.handle, cast(self.algorithm, dtypes.int32), cast(delta, dtypes.uint64)
        )

    def _drawn(self, op, shape, *bounds, **options):
        """What an op gives for the part of the generator's values that is taken now."""
        taken = self.skip(reduce_prod(cast(shape, dtypes.int64)))
        counter = gen_ops.bitcast(taken[:_COUNTER_SIZE], dtypes.uint64)
        key = gen_ops.bitcast(taken[_COUNTER_SIZE:], dtypes.uint64)
        return op(shape, key, counter, self.algorithm, *bounds, **options)

    def _normal(self, op, kind, shape, mean, stddev, dtype, name):
        with name_scope(name, kind, [shape, mean, stddev]) as scope:
            values = self._drawn(op, sizes_of(shape), dtype=dtype)
            return gen_ops.add(values * convert(stddev, dtype), convert(mean, dtype), name=scope)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Normally distributed values.

        Args:
          shape: a vector of sizes.
          mean, stddev: scalars, or Tensors that broadcast with the shape.
          dtype: a floating type.
          name: a name scope.
        """
        op = gen_ops.stateless_random_normal_v2
        return self._normal(op, "stateful_normal", shape, mean, stddev, dtype, name)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """As normal, without values further than 2 stddev from the mean."""
        op = gen_ops.stateless_truncated_normal_v2
        return self._normal(op, "truncated_normal", shape, mean, stddev, dtype, name)

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """Values from minval up to and without maxval (1 for floating types).

        Args:
          shape: a vector of sizes.
          minval, maxval: scalars; both None for all integers of the type.
          dtype: a floating type, or int32, int64, uint32, uint64.
          name: a name scope.

        Raises:
          ValueError: for an integer type with only one bound.
        """
        dtype = dtypes.as_dtype(dtype)
        if dtype.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {dtype.name}, minval and maxval must be both None or both given"
            )
        if dtype.is_integer and minval is None:
            return self.uniform_full_int(shape, dtype, name)
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as scope:
            shape = sizes_of(shape)
            low = convert(minval, dtype)
            high = convert(1 if maxval is None else maxval, dtype)
            if dtype.is_integer:
                op = gen_ops.stateless_random_uniform_int_v2
                return self._drawn(op, shape, low, high, name=scope)
            values = self._drawn(gen_ops.stateless_random_uniform_v2, shape, dtype=dtype)
            return gen_ops.add(values * (high - low), low, name=scope)

    def uniform_full_int(self, shape, dtype=dtypes.uint64, name=None):
        """Integers of all that the type (int32, int64, uint32, uint64) has."""
        with name_scope(name, "stateful_uniform_full_int", [shape]) as scope:
            op = gen_ops.stateless_random_uniform_full_int_v2
            return self._drawn(op, sizes_of(shape), dtype=dtypes.as_dtype(dtype), name=scope)

    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """Numbers of successes in `counts` trials with probability `probs`, which broadcast.

        As in TensorFlow the state does not move on.
        """
        with name_scope(name, "binomial", [shape, counts, probs]) as scope:
            counts = convert(counts, hint=dtypes.float32)
            return gen_ops.stateful_random_binomial(
                self.state.handle,
                self.algorithm,
                sizes_of(shape),
                counts,
                convert(probs, counts.dtype),
                dtype=dtypes.as_dtype(dtype),
                name=scope,
            )

    def make_seeds(self, count=1):
        """Seeds for stateless ops: an int64 Tensor of shape [2, count]."""
        values = self.uniform_full_int([count], dtypes.int64)
        return arrays.stack([values, arrays.zeros_like(values)])


def _joined(key, counter):
    """A state of a key and a counter."""
    parts = [
        arrays.reshape(cast(convert(_signed(part), hint=dtypes.int64), dtypes.int64), [-1])
        for part in (counter, key)
    ]
    return arrays.concat(parts, 0)


class _Global:
    """The generator that is a graph's own."""

    def __init__(self):
        self.generator = None


def get_global_generator():
    """The Generator that the default graph has for all: of a state by chance, unless one was set."""
    own = get_default_graph().own(_Global)
    if own.generator is None:
        own.generator = Generator.from_non_deterministic_state()
    return own.generator


def set_global_generator(generator):
    """Makes a Generator the default graph's; what asked for the one before keeps that."""
    get_default_graph().own(_Global).generator = generator

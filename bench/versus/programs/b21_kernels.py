"""B21: what single ops cost on large tensors, in one process, with one thread for kernels and with two."""

import numpy as np

from measure import Figure, milliseconds

TITLE = "B21 kernels"


def tasks(scale):
    return 0


def side(scale):
    return scale.pick(quick=64, normal=1024)


class Values:
    """Variables of one graph, each made once: nobody computes what follows while the graph is planned."""

    def __init__(self, tf):
        self._tf = tf
        self._made = {}

    def normal(self, *shape, dtype=np.float32):
        return self._once(
            ("normal", shape, dtype),
            lambda: np.random.RandomState(len(shape)).normal(size=shape).astype(dtype),
        )

    def another(self, *shape):
        return self._once(
            ("another", shape),
            lambda: np.random.RandomState(5).normal(size=shape).astype(np.float32),
        )

    def positive(self, *shape):
        return self._once(
            ("positive", shape),
            lambda: np.random.RandomState(7).uniform(0.1, 9, size=shape).astype(np.float32),
        )

    def indices(self, limit, *shape):
        return self._once(
            ("indices", limit, shape),
            lambda: np.random.RandomState(3).randint(limit, size=shape).astype(np.int32),
        )

    def words(self, count):
        text = b"the quick brown fox jumps over the lazy dog"
        return self._once(("words", count), lambda: np.array([text] * count))

    def third(self, *shape):
        return self._once(
            ("third", shape), lambda: np.arange(np.prod(shape)).reshape(shape) % 3 == 0
        )

    def one_hot(self, n):
        return self._once(("one hot", n), lambda: np.eye(n, dtype=np.float32))

    def _once(self, key, values):
        if key not in self._made:
            self._made[key] = self._tf.Variable(values())
        return self._made[key]


def elementwise(tf, v, n):
    """A function that builds each, by name; of n x n floats where nothing else is said."""

    def of(function, *more):
        return lambda: function(v.normal(n, n), *more)

    return {
        "add": lambda: v.normal(n, n) + v.another(n, n),
        "add a row": lambda: v.normal(n, n) + v.normal(n),
        "add a column": lambda: v.normal(n, n) + v.normal(n, 1),
        "multiply by a number": of(lambda x: x * 1.5),
        "divide": lambda: v.normal(n, n) / v.positive(n, n),
        "maximum": lambda: tf.maximum(v.normal(n, n), v.positive(n, n)),
        "less": lambda: tf.less(v.normal(n, n), v.positive(n, n)),
        "where": lambda: tf.where(v.third(n, n), v.normal(n, n), v.another(n, n)),
        "add, int32": lambda: v.normal(n, n, dtype=np.int32) + v.normal(n, n, dtype=np.int32),
        "square": of(tf.square),
        "relu": of(tf.nn.relu),
        "relu's gradient": lambda: tf.raw_ops.ReluGrad(
            gradients=v.normal(n, n), features=v.normal(n, n)
        ),
        "elu": of(tf.nn.elu),
        "selu": of(tf.nn.selu),
        "softplus": of(tf.nn.softplus),
        "exp": of(tf.exp),
        "exp, double": lambda: tf.exp(v.normal(n, n, dtype=np.float64)),
        "expm1": of(tf.math.expm1),
        "log": lambda: tf.log(v.positive(n, n)),
        "log1p": lambda: tf.log1p(v.positive(n, n)),
        "tanh": of(tf.tanh),
        "tanh, half": lambda: tf.tanh(v.normal(n, n, dtype=np.float16)),
        "tanh's gradient": lambda: tf.raw_ops.TanhGrad(y=v.normal(n, n), dy=v.normal(n, n)),
        "sigmoid": of(tf.sigmoid),
        "erf": of(tf.math.erf),
        "sin": of(tf.sin),
        "cos": of(tf.cos),
        "pow": lambda: tf.pow(v.positive(n, n), 1.7),
        "sqrt": lambda: tf.sqrt(v.positive(n, n)),
        "rsqrt": lambda: tf.rsqrt(v.positive(n, n)),
        "cast to half": of(tf.cast, tf.float16),
        "cast from half": lambda: tf.cast(v.normal(n, n, dtype=np.float16), tf.float32),
        "cast to bfloat16": of(tf.cast, tf.bfloat16),
        "cast to int32": of(tf.cast, tf.int32),
        "cast from int32": lambda: tf.cast(v.normal(n, n, dtype=np.int32), tf.float32),
    }


def reductions(tf, v, n):
    def of(function, **more):
        return lambda: function(v.normal(n, n), **more)

    def entropy():
        loss = tf.nn.softmax_cross_entropy_with_logits_v2
        return loss(labels=v.one_hot(n), logits=v.normal(n, n))

    return {
        "sum of all": of(tf.reduce_sum),
        "sum of rows": of(tf.reduce_sum, axis=1),
        "sum of columns": of(tf.reduce_sum, axis=0),
        "sum of the middle axis": lambda: tf.reduce_sum(v.normal(n // 16, n // 4, 64), axis=1),
        "mean of rows": of(tf.reduce_mean, axis=1),
        "largest of rows": of(tf.reduce_max, axis=1),
        "largest of columns": of(tf.reduce_max, axis=0),
        "argmax of rows": of(tf.argmax, axis=1),
        "softmax": of(tf.nn.softmax),
        "log softmax": of(tf.nn.log_softmax),
        "cross entropy": entropy,
    }


def moves(tf, v, n):
    """Transposes, gathers and the like."""
    return {
        "transpose": lambda: tf.transpose(v.normal(n, n)),
        "transpose of heads": lambda: tf.transpose(v.normal(n // 64, n, 8, 8), [0, 2, 1, 3]),
        "transpose to channels first": lambda: tf.transpose(
            v.normal(n // 64, 32, 32, 64), [0, 3, 1, 2]
        ),
        "concat by columns": lambda: tf.concat([v.normal(n, n), v.normal(n, n)], 1),
        "slice": lambda: v.normal(n, n)[1:-1, 1:-1],
        "tile": lambda: tf.tile(v.normal(n, n // 4), [1, 4]),
        "pad": lambda: tf.pad(v.normal(n, n), [[1, 1], [1, 1]]),
        "gather rows of 64": lambda: tf.gather(v.normal(10 * n, 64), v.indices(10 * n, 16 * n)),
        "gather numbers": lambda: tf.gather(v.normal(n * n), v.indices(n * n, n * n)),
        "gather_nd": lambda: tf.gather_nd(v.normal(n, n), v.indices(n, 64 * n, 2)),
        "segment sum": lambda: tf.unsorted_segment_sum(
            v.normal(16 * n, 64), v.indices(n, 16 * n), n
        ),
        "one hot": lambda: tf.one_hot(v.indices(n, n), n),
        "top 10 of rows": lambda: tf.nn.top_k(v.normal(n, n), 10).values,
        "top 1 of rows": lambda: tf.nn.top_k(v.normal(n, n), 1).values,
        "top half of rows": lambda: tf.nn.top_k(v.normal(n, n), n // 2).values,
        "random uniform": lambda: tf.random_uniform([n, n], seed=1),
        "random normal": lambda: tf.random_normal([n, n], seed=1),
        "random truncated normal": lambda: tf.truncated_normal([n, n], seed=1),
        "random integers": lambda: tf.random_uniform([n, n], 0, 1000, tf.int32, seed=1),
        "string split": lambda: tf.string_split(v.words(8 * n)).values,
    }


def operations(tf, scale):
    """Of the graph that is built: by name."""
    values, n = Values(tf), side(scale)
    return {
        name: build().op
        for family in (elementwise, reductions, moves)
        for name, build in family(tf, values, n).items()
    }


def figures(tf, cluster, scale):
    made = operations(tf, scale)
    for threads in (1, 2):
        session = tf.Session(
            config=tf.ConfigProto(
                intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
            )
        )
        session.run(tf.global_variables_initializer())
        thread = "a thread" if threads == 1 else f"{threads} threads"
        for name, operation in made.items():
            run = session.make_callable(operation)
            yield Figure(f"{name}, {thread}", "ms", milliseconds(run))


def limits(scale):
    return []

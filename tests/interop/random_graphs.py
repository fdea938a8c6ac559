"""Random graphs of several ops, grown by the same text for TensorFlow and for Millrace.

`python3 random_graphs.py tensorflow|millrace FIRST COUNT RESULTS` grows the graphs with seeds FIRST and on, runs each,
and leaves a pickle: of each graph {"ops": what it is made of, "values": [...], "gradients": [...]}, or "error".

A graph knows the shapes of its nodes while it grows, so that most ops fit; what is declared of those that are fed
may be less. Values stay small, and no op looks at the last places of what others rounded.
"""

import pickle
import sys

import numpy as np

from programs import module_named

MOST_OPS = 16
MOST_ELEMENTS = 4096


class Unfit(Exception):
    """No node there is what the op needs."""


class Node:
    def __init__(self, tensor, shape):
        self.tensor = tensor
        self.shape = tuple(shape)
        self.is_read = False

    @property
    def rank(self):
        return len(self.shape)


class Growth:
    """Nodes of floats of one type, and of places (int32, each less than 4)."""

    def __init__(self, tf, seed):
        self.tf = tf
        self.chance = np.random.RandomState(seed)
        self.kind = [tf.float32, tf.float64][self.chance.randint(2)]
        self.fed = {}
        self.floats, self.places = [], []
        for shape in ((4, 6), (6,), (4, 1), (2, 3, 4), (2, 8, 8, 2), ()):
            self.floats.append(self._feed(self.kind, self.chance.normal(size=shape)))
        for shape in ((4,), (3, 2)):
            self.places.append(self._feed(tf.int32, self.chance.randint(4, size=shape)))

    def _feed(self, kind, value):
        known = list(value.shape)
        if known and self.chance.rand() < 0.3:
            known[0] = None
        placeholder = self.tf.placeholder(kind, known)
        self.fed[placeholder] = value.astype(kind.as_numpy_dtype)
        return Node(placeholder, value.shape)

    def pick(self, fits=lambda node: True, among=None):
        found = [node for node in (self.floats if among is None else among) if fits(node)]
        if not found:
            raise Unfit
        # The newer the likelier, so that graphs are deep.
        newer = np.arange(1, len(found) + 1)
        return self._read(found[self.chance.choice(len(found), p=newer / newer.sum())])

    def place(self):
        return self._read(self.places[self.chance.randint(len(self.places))])

    def _read(self, node):
        node.is_read = True
        return node

    def pair(self):
        """Two that can be broadcast."""
        x = self.pick()

        def fits(node):
            try:
                return np.prod(np.broadcast_shapes(x.shape, node.shape)) <= MOST_ELEMENTS
            except ValueError:
                return False

        y = self.pick(fits)
        return x, y, np.broadcast_shapes(x.shape, y.shape)

    def axis(self, node):
        return int(self.chance.randint(node.rank))

    def alike(self, shape):
        return self.pick(lambda node: node.shape == shape)


def has_axes(node):
    return node.rank > 0


def without(shape, axis):
    return shape[:axis] + shape[axis + 1 :]


# --- ops: each gives what it makes and the shape of that ---


def unary(name):
    def grow(g):
        x = g.pick()
        return getattr(g.tf, name)(x.tensor), x.shape

    return grow


def activation(name):
    def grow(g):
        x = g.pick(has_axes)
        return getattr(g.tf.nn, name)(x.tensor), x.shape

    return grow


def binary(function):
    def grow(g):
        x, y, shape = g.pair()
        return function(g.tf, x.tensor, y.tensor), shape

    return grow


def reduced(name):
    def grow(g):
        x = g.pick(has_axes)
        axis, keep = g.axis(x), bool(g.chance.randint(2))
        shape = list(x.shape)
        shape[axis] = 1
        kept = tuple(shape) if keep else without(x.shape, axis)
        return getattr(g.tf, name)(x.tensor, axis=axis, keepdims=keep), kept

    return grow


def product(g):
    x = g.pick(lambda node: node.rank == 2)
    turned = bool(g.chance.randint(2))
    inner = x.shape[0] if turned else x.shape[1]
    y = g.pick(lambda node: node.rank == 2 and node.shape[0] == inner)
    made = g.tf.matmul(x.tensor, y.tensor, transpose_a=turned) / float(inner)
    return made, (x.shape[1] if turned else x.shape[0], y.shape[1])


def products(g):
    x = g.pick(lambda node: node.rank == 3)
    y = g.pick(lambda node: node.rank == 3 and node.shape[0] == x.shape[0])
    if x.shape[2] != y.shape[2]:
        raise Unfit
    made = g.tf.matmul(x.tensor, y.tensor, transpose_b=True) / float(x.shape[2])
    return made, (x.shape[0], x.shape[1], y.shape[1])


def summed_products(g):
    x = g.pick(lambda node: node.rank == 3)
    return g.tf.einsum("abc,abd->acd", x.tensor, x.tensor), (x.shape[0], x.shape[2], x.shape[2])


def transposed(g):
    x = g.pick(lambda node: node.rank > 1)
    order = g.chance.permutation(x.rank)
    return g.tf.transpose(x.tensor, order), [x.shape[axis] for axis in order]


def reshaped(g):
    x = g.pick(has_axes)
    size = int(np.prod(x.shape))
    rows = [n for n in range(1, size + 1) if size % n == 0] or [1]
    count = int(rows[g.chance.randint(len(rows))])
    return g.tf.reshape(x.tensor, [count, -1] if size else [0, 1]), (count, size // count)


def expanded(g):
    x = g.pick(lambda node: node.rank < 4)
    axis = int(g.chance.randint(x.rank + 1))
    return g.tf.expand_dims(x.tensor, axis), x.shape[:axis] + (1,) + x.shape[axis:]


def squeezed(g):
    x = g.pick(lambda node: 1 in node.shape)
    axis = x.shape.index(1)
    return g.tf.squeeze(x.tensor, [axis]), without(x.shape, axis)


def joined(g):
    x = g.pick(has_axes)
    y, axis = g.alike(x.shape), g.axis(x)
    shape = list(x.shape)
    shape[axis] *= 2
    return g.tf.concat([x.tensor, y.tensor], axis), shape


def stacked(g):
    x = g.pick(lambda node: node.rank < 4)
    return g.tf.stack([x.tensor, g.alike(x.shape).tensor], axis=-1), (*x.shape, 2)


def taken_apart(g):
    x = g.pick(has_axes)
    axis = g.axis(x)
    parts = g.tf.unstack(x.tensor, num=x.shape[axis], axis=axis)
    return parts[g.chance.randint(len(parts))], without(x.shape, axis)


def split(g):
    x = g.pick(lambda node: any(dim % 2 == 0 for dim in node.shape))
    axis = next(i for i, dim in enumerate(x.shape) if dim % 2 == 0)
    shape = list(x.shape)
    shape[axis] //= 2
    return g.tf.split(x.tensor, 2, axis)[g.chance.randint(2)], shape


def sliced(g):
    x = g.pick(has_axes)
    picked = [slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1), 0]
    at = tuple(picked[g.chance.randint(len(picked))] for _ in x.shape)
    return x.tensor[at], np.empty(x.shape)[at].shape


def gathered(g):
    x = g.pick(lambda node: node.rank > 0 and max(node.shape) > 3)
    axis = next(i for i, dim in enumerate(x.shape) if dim > 3)
    at = g.place()
    shape = x.shape[:axis] + at.shape + x.shape[axis + 1 :]
    if np.prod(shape) > MOST_ELEMENTS:
        raise Unfit
    return g.tf.gather(x.tensor, at.tensor, axis=axis), shape


def tiled(g):
    x = g.pick(lambda node: node.rank > 0 and np.prod(node.shape) * 2 <= MOST_ELEMENTS)
    times = [1] * x.rank
    times[g.axis(x)] = 2
    return g.tf.tile(x.tensor, times), [a * b for a, b in zip(x.shape, times)]


def padded(g):
    x = g.pick(lambda node: node.rank > 0 and min(node.shape) > 1)
    mode = ["CONSTANT", "REFLECT", "SYMMETRIC"][g.chance.randint(3)]
    return g.tf.pad(x.tensor, [[1, 1]] * x.rank, mode), [dim + 2 for dim in x.shape]


def added_up(g):
    x = g.pick(has_axes)
    exclusive, backwards = bool(g.chance.randint(2)), bool(g.chance.randint(2))
    made = g.tf.cumsum(x.tensor, g.axis(x), exclusive=exclusive, reverse=backwards)
    return made, x.shape


def chosen(g):
    x, y, _ = g.pair()
    if x.shape != y.shape:
        raise Unfit
    other = g.alike(x.shape)
    return g.tf.where(x.tensor > 0.1, y.tensor, other.tensor), x.shape


def best(g):
    x = g.pick(lambda node: node.rank > 0 and node.shape[-1] > 1)
    return g.tf.nn.top_k(x.tensor, 2).values, (*x.shape[:-1], 2)


def by_segments(g):
    x = g.pick(lambda node: node.rank > 0 and node.shape[0] == 4)
    name = ["unsorted_segment_sum", "unsorted_segment_max"][g.chance.randint(2)]
    ids = next(node for node in g.places if node.shape == (4,))
    made = getattr(g.tf, name)(x.tensor, ids.tensor, 5)
    return g.tf.clip_by_value(made, -10.0, 10.0), (5, *x.shape[1:])


def put_together(g):
    """Parted by places and put together again, in the order in which it was."""
    x = g.pick(lambda node: node.rank > 0 and node.shape[0] == 4)
    ids = next(node for node in g.places if node.shape == (4,))
    rows = g.tf.dynamic_partition(g.tf.range(4), ids.tensor, 4)
    parts = g.tf.dynamic_partition(g.tf.tanh(x.tensor), ids.tensor, 4)
    return g.tf.dynamic_stitch(rows, parts), x.shape


def hot(g):
    at = g.place()
    if at.rank > 2:
        raise Unfit
    return g.tf.one_hot(at.tensor, 4, dtype=g.kind), (*at.shape, 4)


def convolved(g):
    x = g.pick(lambda node: node.rank == 4 and min(node.shape) > 0)
    channels = x.shape[-1]
    filters = g.tf.constant(g.chance.normal(size=(3, 3, channels, 2)) / 9, g.kind)
    made = g.tf.nn.conv2d(x.tensor, filters, strides=[1, 1, 1, 1], padding="SAME")
    return made, (*x.shape[:3], 2)


def pooled(g):
    x = g.pick(lambda node: node.rank == 4 and min(node.shape[1:3]) > 1)
    pool = [g.tf.nn.max_pool, g.tf.nn.avg_pool][g.chance.randint(2)]
    made = pool(x.tensor, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return made, (x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3])


def branched(g):
    x, y, shape = g.pair()
    is_positive = g.tf.reduce_sum(x.tensor) > 0.01
    if bool(g.chance.randint(2)):
        first = lambda: g.tf.tanh(x.tensor) + y.tensor  # noqa: E731
    else:
        first = lambda: x.tensor * 0.5 + y.tensor  # noqa: E731
    return g.tf.cond(is_positive, first, lambda: x.tensor - g.tf.sin(y.tensor)), shape


def looped(g):
    x = g.pick()
    times = int(g.chance.randint(4))

    def body(i, value):
        return i + 1, g.tf.tanh(value) * 0.5 + x.tensor

    start = g.tf.zeros_like(x.tensor) if bool(g.chance.randint(2)) else x.tensor
    return g.tf.while_loop(lambda i, _: i < times, body, [0, start])[1], x.shape


def mapped(g):
    x = g.pick(lambda node: node.rank > 1 and node.shape[0] > 0)
    y = g.alike(x.shape)
    both = (x.tensor, y.tensor)
    return g.tf.map_fn(lambda row: row[0] * 0.5 - g.tf.sin(row[1]), both, dtype=g.kind), x.shape


def scanned(g):
    x = g.pick(lambda node: node.rank > 1 and node.shape[0] > 0)
    return g.tf.scan(lambda kept, row: kept * 0.5 + g.tf.tanh(row), x.tensor), x.shape


def after_others(g):
    x, y = g.pick(), g.pick()
    with g.tf.control_dependencies([y.tensor]):
        return g.tf.identity(x.tensor), x.shape


def held_back(g):
    x = g.pick()
    return g.tf.stop_gradient(x.tensor), x.shape


def sized(g):
    """What the shape tells, as a number that goes in."""
    x, y = g.pick(has_axes), g.pick()
    size = g.tf.shape(x.tensor)[0] + g.tf.size(x.tensor) // 1000
    return y.tensor / g.tf.cast(size + 1, g.kind), y.shape


def places_of_best(g):
    """Not of what was computed: whether two are equal would hang on its last place."""
    x = g._read(g.floats[0])
    g.places.append(Node(g.tf.argmax(x.tensor, 0, output_type=g.tf.int32) % 4, (6,)))
    return g.tf.cast(g.places[-1].tensor, g.kind), (6,)


OPS = [
    *map(unary, "abs tanh sigmoid sin cos negative".split()),
    *map(activation, "relu elu softplus softmax log_softmax leaky_relu".split()),
    binary(lambda tf, x, y: x + y),
    binary(lambda tf, x, y: x - y),
    binary(lambda tf, x, y: tf.tanh(x) * y),
    binary(lambda tf, x, y: x / (1.0 + tf.square(y))),
    binary(lambda tf, x, y: tf.maximum(x, y)),
    binary(lambda tf, x, y: tf.minimum(x, y)),
    binary(lambda tf, x, y: tf.squared_difference(tf.tanh(x), tf.tanh(y))),
    binary(lambda tf, x, y: tf.add_n([x + y, x * 0.5 + y, y * 0.5 + x]) / 3.0),
    *map(reduced, "reduce_sum reduce_mean reduce_max reduce_min reduce_logsumexp".split()),
    product,
    products,
    summed_products,
    transposed,
    reshaped,
    expanded,
    squeezed,
    joined,
    stacked,
    taken_apart,
    split,
    sliced,
    gathered,
    tiled,
    padded,
    added_up,
    chosen,
    best,
    by_segments,
    put_together,
    hot,
    convolved,
    pooled,
    branched,
    looped,
    mapped,
    scanned,
    after_others,
    held_back,
    sized,
    places_of_best,
]


def grown(g):
    """Adds some ops; their names."""
    names = []
    for _ in range(4 * MOST_OPS):
        op = OPS[g.chance.randint(len(OPS))]
        try:
            tensor, shape = op(g)
        except Unfit:
            continue
        if np.prod(shape) <= MOST_ELEMENTS:
            g.floats.append(Node(tensor, shape))
            names.append(tensor.op.type)
        if len(names) == MOST_OPS:
            break
    return names


def result(tf, seed):
    g = Growth(tf, seed)
    made = {"ops": grown(g)}
    ends = [node.tensor for node in g.floats if not node.is_read]
    given = [fed for fed in g.fed if fed.dtype == g.kind]
    # Each end counts by another share, lest one's gradient hide that another's is missing.
    total = tf.add_n([tf.reduce_sum(end) * (0.5 + i) for i, end in enumerate(ends)])
    gradients = tf.gradients(total, given)
    # Those of rows alone are slices.
    there = [tf.convert_to_tensor(each) for each in gradients if each is not None]
    with tf.Session() as session:
        values = session.run(ends + there, g.fed)
    made["values"], found = values[: len(ends)], iter(values[len(ends) :])
    made["gradients"] = [None if each is None else next(found) for each in gradients]
    return made


def main(module, first, count, path):
    tf = module_named(module)
    results = []
    for seed in range(int(first), int(first) + int(count)):
        with tf.Graph().as_default():
            try:
                results.append(result(tf, seed))
            except Exception as error:  # noqa: BLE001: the error is the result
                results.append({"error": f"{type(error).__name__}: {error}"})
    with open(path, "wb") as file:
        pickle.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Programs with loops and recurrent nets, the same text for TensorFlow and for Millrace; see
training_programs.py."""

import random

import numpy as np


def times(tf, count, step, *initial):
    """The values after `step` was applied `count` times."""
    return tf.while_loop(
        lambda i, *_: tf.less(i, count),
        lambda i, *values: [i + 1, *step(i, *values)],
        [tf.constant(0), *initial],
    )[1:]


def with_gradients(tf, session, y, xs):
    found = [y] + [g if g is None else tf.convert_to_tensor(g) for g in tf.gradients(y, xs)]
    return [None if each is None else session.run(each).tolist() for each in found]


def bodies(tf):
    """Functions of x and w, both of shape [2, 2]."""

    def branches(x, w):
        def step(i, y):
            odd = lambda: times(tf, i, lambda j, z: [tf.sin(tf.matmul(z, w)) + y], x)[0]
            return [tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(y * w), odd)]

        return times(tf, 4, step, x)[0]

    def grown(x, w):
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
        return tf.while_loop(
            lambda i, y: tf.less(i, 3),
            lambda i, y: (i + 1, tf.concat([y, tf.matmul(y, w)[:2]], 0)),
            [tf.constant(0), x],
            shape_invariants=shapes,
        )[1]

    def filled(x, w):
        array = tf.TensorArray(x.dtype, 4, clear_after_read=False).write(0, x)
        _, array = tf.while_loop(
            lambda i, _: tf.less(i, 4),
            lambda i, array: (i + 1, array.write(i, tf.sin(array.read(i - 1) * w))),
            [tf.constant(1), array],
        )
        return array.stack()

    return {
        "once": lambda x, w: times(tf, 1, lambda i, y: [y * w], x)[0],
        "never": lambda x, w: times(tf, 0, lambda i, y: [y * w], x)[0],
        "chained": lambda x, w: times(tf, 4, lambda i, y, z: [y * z, tf.sin(z)], x, w)[0],
        "nested": lambda x, w: times(
            tf, 3, lambda i, y: times(tf, i + 1, lambda j, z: [tf.tanh(z * w) + y], y), x
        )[0],
        "branches": branches,
        "grown": grown,
        "filled": filled,
        "rows": lambda x, w: times(tf, 3, lambda i, y: [y * x + tf.gather(w, [i % 2, 0])], x)[0],
        "scan": lambda x, w: tf.scan(lambda a, e: tf.tanh(a * e + w[0]), x),
        "mapped": lambda x, w: tf.map_fn(lambda e: e * e * w, x),
        "folded": lambda x, w: tf.foldr(lambda a, e: a * tf.cos(e) + w[1], x),
    }


def loops(tf, session):
    """Values and gradients of loops."""
    results = {}
    for name, function in bodies(tf).items():
        x = tf.constant(np.array([[0.3, -0.6], [1.1, 0.2]]))
        w = tf.constant(np.array([[0.7, 0.4], [-0.5, 0.9]]))
        results[name] = with_gradients(tf, session, function(x, w), [x, w])
    return results


def loops_of_second_order(tf, session):
    """Gradients of gradients of loops: TensorFlow has them for its newer loops alone."""
    if hasattr(tf, "enable_control_flow_v2"):
        tf.enable_control_flow_v2()
    results = {}
    for name in ("chained", "nested", "branches", "scan"):
        x = tf.constant(np.array([[0.3, -0.6], [1.1, 0.2]]))
        w = tf.constant(np.array([[0.7, 0.4], [-0.5, 0.9]]))
        first = tf.gradients(bodies(tf)[name](x, w), [x, w])
        total = tf.reduce_sum(first[0] * first[0]) + tf.reduce_sum(first[1])
        results[name] = with_gradients(tf, session, total, [x, w])
    if hasattr(tf, "disable_control_flow_v2"):
        tf.disable_control_flow_v2()
    return results


def expression(tf, rng, depth, i, values):
    """A random expression of shape [2, 2]."""
    pick = lambda: expression(tf, rng, depth - 1, i, values)
    if depth == 0:
        return rng.choice(values)
    kind = rng.randrange(9)
    if kind == 0:
        return tf.tanh(pick() * pick())
    if kind == 1:
        return tf.sin(pick()) + rng.choice(values)
    if kind == 2:
        return tf.tanh(tf.matmul(pick(), rng.choice(values)))
    if kind == 3:
        # Not of what comes from outside: TensorFlow's sum of slices over no iterations has no rows.
        return tf.gather(pick() * 1.0, [i % 2, (i + 1) % 2])
    if kind == 4:
        a, b = rng.choice(values), rng.choice(values)
        return tf.cond(tf.equal(i % 2, rng.randrange(2)), lambda: a * tf.cos(b), lambda: tf.sin(a))
    if kind == 5:
        a, b = rng.choice(values), rng.choice(values)
        count = rng.randrange(1, 4)
        return times(tf, i % count, lambda j, z: [tf.tanh(z * a + b)], pick())[0]
    if kind == 6:
        return tf.reduce_sum(pick(), 0, keepdims=True) * 0.5 * tf.cos(rng.choice(values))
    if kind == 7:
        return tf.transpose(pick()) * 0.7
    return tf.maximum(pick(), rng.choice(values)) * 0.5


def random_loops(tf, session):
    """Loops with random bodies, some of whose variables nothing is made of."""
    results = {}
    for seed in range(25):
        rng = random.Random(seed)
        numbers = np.random.RandomState(seed)
        constants = [tf.constant(numbers.normal(size=(2, 2))) for _ in range(2)]
        initial = [tf.constant(numbers.normal(size=(2, 2))) for _ in range(rng.randrange(1, 4))]

        def step(i, *variables):
            known = [*variables, *constants]
            return [tf.tanh(expression(tf, rng, rng.randrange(1, 4), i, known)) for _ in variables]

        made = times(tf, rng.randrange(0, 5), step, *initial)
        results[str(seed)] = with_gradients(tf, session, made[0], [*initial, *constants])
    return results


def waves(shape, dtype=None, partition_info=None):
    """An initializer: the same numbers for the same shape."""
    values = np.sin(np.arange(np.prod(shape), dtype=np.float64) + 1.0) * 0.5
    return values.reshape([int(dim) for dim in shape])


def cells(tf):
    """Two cells with variables: those of the program where TensorFlow has none any more."""

    def affine(name, x, size, bias):
        w = tf.get_variable(f"{name}kernel", [x.shape.as_list()[1], size])
        return tf.matmul(x, w) + tf.get_variable(
            f"{name}bias", [size], initializer=tf.constant_initializer(bias)
        )

    class Cell:
        output_size = 4

        def __init__(self, *unused):
            pass

        def zero_state(self, batch, dtype):
            make = lambda size: tf.zeros([batch, size], dtype)
            state = self.state_size
            return (make(4), make(4)) if isinstance(state, tuple) else make(state)

        def __call__(self, x, state, scope=None):
            with tf.variable_scope(scope or self.name):
                return self.call(x, state)

    class Gru(Cell):
        state_size, name = 4, "gru_cell"

        def call(self, x, h):
            gates = tf.sigmoid(affine("gates/", tf.concat([x, h], 1), 8, 1.0))
            reset, update = tf.split(gates, 2, 1)
            new = tf.tanh(affine("candidate/", tf.concat([x, reset * h], 1), 4, 0.0))
            new = update * h + (1 - update) * new
            return new, new

    class Lstm(Cell):
        state_size, name = (4, 4), "basic_lstm_cell"

        def call(self, x, state):
            c, h = state
            i, j, f, o = tf.split(affine("", tf.concat([x, h], 1), 16, 0.0), 4, 1)
            c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
            return h, (c, h)

    if tf.__name__ == "millrace":
        return {"gru": tf.nn.rnn_cell.GRUCell, "lstm": tf.nn.rnn_cell.BasicLSTMCell}
    return {"gru": Gru, "lstm": Lstm}


def recurrent(tf, session):
    """GRU and LSTM over time: outputs, last states, gradients, names of variables."""
    results = {}
    numbers = np.random.RandomState(2).normal(size=(3, 5, 2))
    for name, kind in cells(tf).items():
        for lengths in (None, [2, 5, 1]):
            for how in ("dynamic", "static", "both"):
                label = f"{name} {how} {'all' if lengths is None else 'some'}"
                x = tf.constant(numbers)
                scope = label.replace(" ", "_")
                with tf.variable_scope(scope, initializer=waves, dtype=tf.float64):
                    if how == "dynamic":
                        made, state = tf.nn.dynamic_rnn(kind(4), x, lengths, dtype=tf.float64)
                    elif how == "static":
                        outputs, state = tf.nn.static_rnn(
                            kind(4),
                            tf.unstack(x, axis=1),
                            dtype=tf.float64,
                            sequence_length=lengths,
                        )
                        made = tf.stack(outputs, 1)
                    else:
                        made, state = tf.nn.bidirectional_dynamic_rnn(
                            kind(4), kind(4), x, lengths, dtype=tf.float64
                        )
                        made = tf.concat(made, 2)
                leaves = flat(state)
                loss = tf.reduce_sum(made * made) + tf.add_n([tf.reduce_sum(s) for s in leaves])
                variables = [v for v in tf.trainable_variables() if v.name.startswith(scope + "/")]
                session.run(tf.global_variables_initializer())
                results[label] = [
                    *with_gradients(tf, session, loss, [x, *variables]),
                    session.run(made).tolist(),
                    [variable.name for variable in variables],
                ]
    return results


def flat(state):
    if isinstance(state, (list, tuple)):
        return [leaf for part in state for leaf in flat(part)]
    return [state]


LOOP_PROGRAMS = [loops, loops_of_second_order, random_loops, recurrent]

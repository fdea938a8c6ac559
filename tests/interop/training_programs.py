"""Programs that take gradients and train, the same text for TensorFlow and for Millrace.

`python3 training_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program the numbers
that it ends in. Run by test_training_beside_tensorflow.py.
"""

import numpy as np

from loop_programs import LOOP_PROGRAMS
from programs import print_results
from sparse_programs import SPARSE_PROGRAMS

UNARY = """abs cos erf erfc exp expm1 lgamma log log1p negative reciprocal rsqrt sigmoid sign sin sqrt square
tan tanh""".split()
ACTIVATIONS = "elu leaky_relu log_softmax relu relu6 selu softmax softplus softsign".split()
BINARY = """add divide floordiv maximum minimum multiply pow squared_difference subtract""".split()
REDUCTIONS = "reduce_max reduce_mean reduce_min reduce_sum reduce_logsumexp cumsum".split()


def of_both_orders(tf, session, y, xs):
    """The gradients by each x, and theirs by the first; None where there is none."""
    first = tf.gradients(y, xs)
    second = [None]
    if first[0] is not None:
        try:
            second = tf.gradients(first[0], xs[:1])
        except LookupError:  # not everything has one of second order
            pass
    return [None if g is None else session.run(g).tolist() for g in (*first, *second)]


def functions(tf, session):
    """Of one number: at points where all of them are defined, some of them on the edge."""
    inside = tf.constant(np.array([0.15, 0.4, 0.75]))
    around = tf.constant(np.array([[-7.5, -1.0, 0.0], [0.3, 6.0, 7.0]]))
    results = {}
    for name in UNARY:
        results[name] = of_both_orders(tf, session, getattr(tf.math, name)(inside), [inside])
    for name in ACTIVATIONS:
        y = getattr(tf.nn, name)(around) * tf.constant([1.0, 2.0, -3.0], tf.float64)
        results[name] = of_both_orders(tf, session, y, [around])
    return results


def operators(tf, session):
    """Of two, which broadcast."""
    x = tf.constant(np.array([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]]))
    y = tf.constant(np.array([[2.0], [1.5]]))
    results = {
        name: of_both_orders(tf, session, getattr(tf.math, name)(x, y), [x, y]) for name in BINARY
    }
    for name in REDUCTIONS:
        for axis in (0, 1):
            made = getattr(tf.math, name)(tf.square(x), axis)
            results[f"{name} {axis}"] = of_both_orders(tf, session, made * made, [x])
    return results


def shapes(tf, session):
    """Of what only moves numbers."""
    x = tf.constant(np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 10)
    made = {
        "concat": tf.concat([x, x * 2.0], 1),
        "gather": tf.gather(x, [2, 0, 2], axis=1),
        "pad": tf.pad(x, [[0, 1], [1, 0], [0, 0]]),
        "reshape": tf.reshape(x, [4, 6]),
        "slice": tf.slice(x, [0, 1, 1], [2, 2, 2]),
        "split": tf.split(x, 2, axis=2)[1],
        "stack": tf.stack([x, -x], axis=1),
        "strides": x[:, ::-1, 1:4:2],
        "tile": tf.tile(x, [1, 2, 1]),
        "transpose": tf.transpose(x, [2, 0, 1]),
        "unstack": tf.unstack(x, axis=1)[2],
        "where": tf.where(x > 1.0, x, x * x),
    }
    # Cubes, so that the gradient is another number everywhere.
    return {name: of_both_orders(tf, session, y * y * y, [x])[:1] for name, y in made.items()}


def conditionals(tf, session):
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.constant(np.array([0.5, 2.0]))
    y = tf.cond(p, lambda: tf.cond(q, lambda: x * x * x, lambda: tf.exp(x)) * x, lambda: 3.0 * x)
    (first,) = tf.gradients(y, [x])
    (second,) = tf.gradients(first, [x])
    return {
        f"{outer} {inner}": [
            value.tolist() for value in session.run([first, second], {p: outer, q: inner})
        ]
        for outer in (False, True)
        for inner in (False, True)
    }


def optimizers(tf, session):
    """Six steps of each, on numbers and on rows of a table of which one comes twice."""
    made = {
        "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
        "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
        "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
        "adam": lambda: tf.train.AdamOptimizer(0.1),
        "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
        "centered": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
        "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        "proximal descent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01),
        "proximal adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01),
    }
    results = {}
    for name, make in made.items():
        for use_resource in (False, True):
            with tf.variable_scope(f"{name} {use_resource}".replace(" ", "_")):
                w = tf.get_variable(
                    "w", initializer=np.array([1.0, -2.0], np.float32), use_resource=use_resource
                )
                table = tf.get_variable(
                    "table",
                    initializer=np.arange(8, dtype=np.float32).reshape(4, 2) / 4,
                    use_resource=use_resource,
                )
                rows = tf.nn.embedding_lookup(table, [1, 3, 1])
                loss = tf.reduce_sum(tf.square(w - 3.0)) + tf.reduce_sum(tf.square(rows * w + 1.0))
                optimizer = make()
                train = optimizer.minimize(loss)
                session.run(tf.global_variables_initializer())
                for _ in range(6):
                    session.run(train)
                results[f"{name}, {'resource' if use_resource else 'reference'}"] = {
                    "values": [value.tolist() for value in session.run([w, table])],
                    "slots": [
                        optimizer.get_slot(w, slot).name for slot in optimizer.get_slot_names()
                    ],
                }
    return results


def network(tf, session):
    """A perceptron of two layers; the loss of each step."""
    random = np.random.RandomState(5)
    inputs = random.normal(size=(32, 6)).astype(np.float32)
    labels = random.randint(0, 3, 32)
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int64, [None])
    w1 = tf.Variable(random.normal(size=(6, 8)).astype(np.float32) / 3)
    b1, b2 = tf.Variable(tf.zeros([8])), tf.Variable(tf.zeros([3]))
    w2 = tf.Variable(random.normal(size=(8, 3)).astype(np.float32) / 3)
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1))
    logits = tf.nn.xw_plus_b(hidden, w2, b2)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    ) + 0.01 * tf.nn.l2_loss(w1)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.3, step, 4, 0.5, staircase=True)
    train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    session.run(tf.global_variables_initializer())
    feeds = {x: inputs, y: labels}
    return {"losses": [float(session.run([loss, train], feeds)[0]) for _ in range(12)]}


def windows(tf, session):
    """Of convolutions and poolings, by each input."""
    random = np.random.RandomState(6)
    x = tf.constant(random.normal(size=(2, 6, 5, 3)))
    w = tf.constant(random.normal(size=(3, 2, 3, 4)) / 3)
    each = tf.constant(random.normal(size=(2, 2, 3, 2)))
    point = tf.constant(random.normal(size=(1, 1, 6, 4)))
    lines, line_filter = x[0], tf.constant(random.normal(size=(3, 3, 2)))
    wide = tf.constant(random.normal(size=(2, 3, 3, 4)))
    results = {}
    for padding in ("SAME", "VALID"):
        made = {
            "conv1d": (tf.nn.conv1d(lines, line_filter, 2, padding), [x, line_filter]),
            "conv2d": (tf.nn.conv2d(x, w, [1, 2, 1, 1], padding), [x, w]),
            "depthwise": (tf.nn.depthwise_conv2d(x, each, [1, 2, 2, 1], padding), [x, each]),
            "separable": (
                tf.nn.separable_conv2d(x, each, point, [1, 1, 1, 1], padding),
                [x, each, point],
            ),
            "dilation": (
                tf.nn.dilation2d(x, each[..., 0], [1, 2, 1, 1], [1, 1, 2, 1], padding),
                [x],
            ),
            "erosion": (tf.nn.erosion2d(x, each[..., 0], [1] * 4, [1] * 4, padding), [x, each]),
            "max_pool": (tf.nn.max_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], padding), [x]),
            "avg_pool": (tf.nn.avg_pool(x, [1, 3, 2, 1], [1, 2, 1, 1], padding), [x]),
        }
        for name, (y, xs) in made.items():
            results[f"{name} {padding}"] = [
                session.run(y).tolist(),
                *of_both_orders(tf, session, y * y, xs),
            ]
    transposed = tf.nn.conv2d_transpose(wide, w, [2, 6, 5, 3], [1, 2, 2, 1])
    results["transposed"] = of_both_orders(tf, session, transposed * transposed, [wide, w])
    largest, places = tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    results["places"] = session.run(places).tolist()
    results["by places"] = of_both_orders(tf, session, largest * largest, [x])[:1]
    return results


def normalizations(tf, session):
    """Of what is normalized by its batch or its neighbours, in float32."""
    random = np.random.RandomState(8)

    def given(value):
        # No constant: TensorFlow's rewriting of a batch norm of constants fails.
        return tf.placeholder_with_default(np.float32(value), np.shape(value))

    x = given(random.normal(size=(3, 4, 2, 5)))
    scale, offset = (given(random.normal(size=5)) for _ in range(2))
    mean, variance = given([0.1] * 5), given([0.5, 1.0, 1.5, 2.0, 2.5])
    weights = tf.constant(random.normal(size=(3, 4, 2, 5)).astype(np.float32))
    results = {}
    for training in (True, False):
        made = tf.nn.fused_batch_norm(
            x,
            scale,
            offset,
            None if training else mean,
            None if training else variance,
            is_training=training,
        )
        y = tf.tanh(made[0]) * weights
        results[f"batch norm, training={training}"] = [
            *(value.tolist() for value in session.run(list(made))),
            # Those of second order are differences of numbers near each other: in float32 a few
            # digits of them.
            *(g.tolist() for g in session.run(tf.gradients(y, [x, scale, offset]))),
        ]
    y = tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.75)
    results["neighbours"] = [
        session.run(y).tolist(),
        session.run(tf.gradients(y * weights, [x])[0]).tolist(),
    ]
    return results


def images(tf, session):
    """A small network over images with everything that these have: the loss of each step."""
    random = np.random.RandomState(7)
    data = random.normal(size=(16, 12, 12, 2)).astype(np.float32)
    labels = random.randint(0, 4, 16)

    def variable(*shape):
        return tf.Variable((random.normal(size=shape) / 4).astype(np.float32))

    x, y = tf.placeholder(tf.float32, [None, 12, 12, 2]), tf.placeholder(tf.int64, [None])
    hidden = tf.nn.conv2d(x, variable(3, 3, 2, 16), [1, 1, 1, 1], "SAME")
    scale, offset = tf.Variable(tf.ones([16])), tf.Variable(tf.zeros([16]))
    hidden, _, _ = tf.nn.fused_batch_norm(hidden, scale, offset)
    hidden = tf.nn.max_pool(tf.nn.relu(hidden), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    hidden = tf.nn.bias_add(
        tf.nn.conv2d(hidden, variable(3, 3, 16, 32), [1, 2, 2, 1], "VALID"), variable(32)
    )
    hidden = tf.nn.avg_pool(tf.nn.relu(hidden), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    logits = tf.matmul(tf.reshape(hidden, [-1, 32]), variable(32, 4))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    session.run(tf.global_variables_initializer())
    return {
        "losses": [float(session.run([loss, train], {x: data, y: labels})[0]) for _ in range(8)]
    }


PROGRAMS = [
    functions,
    operators,
    shapes,
    conditionals,
    optimizers,
    network,
    windows,
    normalizations,
    images,
    *LOOP_PROGRAMS,
    *SPARSE_PROGRAMS,
]

if __name__ == "__main__":
    print_results(PROGRAMS)

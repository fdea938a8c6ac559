"""B23: what the front-end costs before anything runs: models built in Python, and their gradients."""

import time

from measure import Figure, thousands_per_second

TITLE = "B23 building models"


def tasks(scale):
    return 0


def sizes(scale):
    return scale.pick(quick=[300], normal=[1000, 10_000])


def tower(tf, count):
    """A chain of products, sums and activations, as long as said, and its end."""
    x = first = tf.placeholder(tf.float32, [16, 16])
    w = tf.placeholder(tf.float32, [16, 16])
    for i in range(count // 4):
        x = tf.nn.relu(tf.add(tf.matmul(x, w), x))
        x = tf.multiply(x, first)
    return [first, w], tf.reduce_sum(x)


def timed(tf, call):
    """Seconds of a call in a graph of its own; what it makes first is not counted."""

    class Sample:
        gives_seconds = True

        def __call__(self, seconds):
            spent, calls = 0.0, 0
            while spent < seconds or calls == 0:
                with tf.Graph().as_default():
                    spent += call()
                calls += 1
            return spent / calls

    return Sample()


def figures(tf, cluster, scale):
    for count in sizes(scale):

        def build(count=count):
            start = time.perf_counter()
            tower(tf, count)
            return time.perf_counter() - start

        def differentiate(count=count):
            inputs, end = tower(tf, count)
            start = time.perf_counter()
            tf.gradients(end, inputs)
            return time.perf_counter() - start

        def layers():
            start = time.perf_counter()
            x = tf.placeholder(tf.float32, [16, 32])
            for i in range(20):
                w = tf.get_variable(f"w{i}", [32, 32])
                b = tf.get_variable(f"b{i}", [32], initializer=tf.zeros_initializer())
                x = tf.tanh(tf.matmul(x, w) + b)
            tf.train.AdamOptimizer().minimize(tf.reduce_mean(x))
            return time.perf_counter() - start

        # In thousands of ops per second.
        yield Figure(f"{count:,} ops", "k/s", thousands_per_second(count, timed(tf, build)))
        yield Figure(
            f"gradients of {count:,} ops, per second",
            "k/s",
            thousands_per_second(count, timed(tf, differentiate)),
        )
    yield Figure("models of 20 layers with Adam", "k/s", thousands_per_second(1, timed(tf, layers)))


def limits(scale):
    return []

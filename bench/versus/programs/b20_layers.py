"""B20: what layers over matrices and images cost, in one process: products, convolutions, poolings."""

import numpy as np

from measure import Figure, Limit, milliseconds

TITLE = "B20 layers"
ONES = [1, 1, 1, 1]
TWOS = [1, 2, 2, 1]


def tasks(scale):
    return 0


def products(scale):
    return scale.pick(quick=[64, 512], normal=[64, 128, 256, 512, 1024, 2048])


def kernels(tf):
    """A function that builds each, by name."""

    def some(*shape):
        # A variable: nobody computes what follows while the graph is planned.
        values = np.random.RandomState(len(shape)).normal(size=shape).astype(np.float32)
        return tf.Variable(values)

    def convolved(images, filters, strides=ONES):
        return lambda: tf.nn.conv2d(some(*images), some(*filters), strides, "SAME")

    def pooled(pool):
        def gradient():
            x = some(16, 56, 56, 64)
            return tf.gradients(pool(x, [1, 3, 3, 1], TWOS, "SAME"), [x])[0]

        return lambda: pool(some(16, 56, 56, 64), [1, 3, 3, 1], TWOS, "SAME"), gradient

    def normalized():
        x = some(16, 56, 56, 64)
        return x, tf.nn.fused_batch_norm(x, some(64), some(64))[0]

    def back(of, grads=None):
        x, y = normalized()
        return tf.gradients(of(y), [x], grad_ys=grads)[0]

    images, filters = (32, 28, 28, 64), (3, 3, 64, 64)
    largest, by_largest = pooled(tf.nn.max_pool)
    average, by_average = pooled(tf.nn.avg_pool)
    return {
        "convolution, 7 x 7 of 8 images, 3 channels": convolved(
            (8, 224, 224, 3), (7, 7, 3, 64), TWOS
        ),
        "convolution, 3 x 3 of 32 images, 64 channels": convolved(images, filters),
        "convolution, 1 x 1 of 16 images, 256 channels": convolved(
            (16, 28, 28, 256), (1, 1, 256, 64)
        ),
        "convolution, 3 x 3 of one image": convolved((1, 56, 56, 64), filters),
        "convolution's gradient by images": lambda: tf.nn.conv2d_backprop_input(
            images, some(*filters), some(*images), ONES, "SAME"
        ),
        "convolution's gradient by its filter": lambda: tf.nn.conv2d_backprop_filter(
            some(*images), filters, some(*images), ONES, "SAME"
        ),
        "depthwise convolution": lambda: tf.nn.depthwise_conv2d(
            some(16, 28, 28, 128), some(3, 3, 128, 1), ONES, "SAME"
        ),
        "pooling by the largest": largest,
        "pooling by the largest and its gradient": by_largest,
        "pooling by the average": average,
        "pooling by the average and its gradient": by_average,
        "batch norm": lambda: normalized()[1],
        # As in a network: what arrives is a tensor like any other.
        "batch norm and its gradient": lambda: back(lambda y: y, [some(16, 56, 56, 64)]),
        "batch norm, a square, and their gradients": lambda: back(lambda y: y * y),
    }


def figures(tf, cluster, scale):
    def figure(name, build):
        with tf.Graph().as_default():
            operation = build().op
            session = tf.Session()
            session.run(tf.global_variables_initializer())
            return Figure(name, "ms", milliseconds(session.make_callable(operation)))

    for size in products(scale):

        def product(size=size):
            values = np.random.RandomState(size).normal(size=(size, size)).astype(np.float32)
            return tf.matmul(tf.Variable(values), tf.Variable(values))

        yield figure(f"product of matrices, {size} x {size}", product)
    for name, build in kernels(tf).items():
        yield figure(name, build)


def limits(scale):
    for size in products(scale):
        values = np.random.RandomState(size).normal(size=(size, size)).astype(np.float32)
        product = milliseconds(lambda v=values: v @ v)
        yield Limit(f"product of matrices, {size} x {size}", "NumPy's product", product)

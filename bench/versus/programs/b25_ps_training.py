"""B25: workers that train one model on a parameter server, each in its own session, as between-graph programs do."""

import threading
import time

import numpy as np

from measure import Figure

TITLE = "B25 training with a parameter server"
PS = "/job:worker/task:0"


def many_workers(scale):
    return scale.pick(quick=2, normal=8)


def tasks(scale):
    return 1 + many_workers(scale)  # worker:0 is the parameter server


def weights(tf, name, *shape):
    values = np.random.RandomState(sum(shape)).normal(scale=0.1, size=shape)
    return tf.get_variable(name, initializer=values.astype(np.float32))


def dense(tf, name, x, units, activation=None):
    size = int(x.shape[-1])
    y = tf.matmul(x, weights(tf, f"{name}_w", size, units)) + weights(tf, f"{name}_b", units)
    return activation(y) if activation else y


def tiny_perceptron(tf, x):
    return dense(tf, "out", dense(tf, "hidden", x, 16, tf.tanh), 10)


def perceptron(tf, x):
    hidden = dense(tf, "first", x, 128, tf.nn.relu)
    return dense(tf, "out", dense(tf, "second", hidden, 64, tf.nn.relu), 10)


def convolutions(tf, x):
    made = tf.reshape(x, [-1, 8, 8, 1])
    for channels in (16, 32):
        filters = weights(tf, f"filters_{channels}", 3, 3, int(made.shape[-1]), channels)
        made = tf.nn.relu(tf.nn.conv2d(made, filters, [1, 1, 1, 1], "SAME"))
        made = tf.nn.max_pool(made, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    hidden = dense(tf, "hidden", tf.reshape(made, [-1, 2 * 2 * 32]), 64, tf.nn.relu)
    return dense(tf, "out", hidden, 10)


MODELS = {
    "tiny perceptron, batch 16": (tiny_perceptron, 16),
    "digits, perceptron, batch 64": (perceptron, 64),
    "digits, convolutions, batch 64": (convolutions, 64),
}


def loss_of(tf, build, batch):
    """The loss of 8 x 8 digits, the placeholders, and what they are fed."""
    chance = np.random.RandomState(1)
    x, y = tf.placeholder(tf.float32, [batch, 64]), tf.placeholder(tf.int32, [batch])
    logits = build(tf, x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    fed = chance.normal(size=(batch, 64)).astype(np.float32), chance.randint(10, size=batch)
    return loss, [x, y], fed


def empty_loss(tf):
    """Nothing to compute but the one number that all share."""
    return weights(tf, "number", 1)[0], [], []


class Training:
    """Updates per second of workers that go on for as long as somebody measures, each by calls of its own.

    They are counted by the global step: a worker whose gradients were too old to be used makes more
    steps than that. Between samples a worker may be in a step that waits for others.
    """

    def __init__(self, calls, global_step):
        self._global_step = global_step
        self._goes_on = threading.Event()
        self._failure = None
        for call in calls:
            threading.Thread(target=self._work, args=[call], daemon=True).start()

    def _work(self, call):
        try:
            while True:
                self._goes_on.wait()
                call()
        except Exception as failure:
            self._failure = failure

    def __call__(self, seconds):
        self._goes_on.set()
        time.sleep(seconds / 5)
        before, start = self._global_step(), time.perf_counter()
        time.sleep(seconds)
        after, end = self._global_step(), time.perf_counter()
        self._goes_on.clear()
        if self._failure is not None:
            raise self._failure
        return (after - before) / (end - start)


def replica(tf, cluster, index, count, synchronous, model):
    """Of worker `index` of so many: a call that makes one step, and one that reads the global step."""
    worker = f"/job:worker/task:{index + 1}"
    setter = tf.train.replica_device_setter(
        ps_tasks=1, ps_device="/job:worker", worker_device=worker
    )
    with tf.device(setter):
        loss, feeds, fed = model(tf)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.01)
        if synchronous:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=count)
        train = optimizer.minimize(loss, global_step=step)
    session = tf.Session(cluster.target(f"worker:{index + 1}"))
    if index == 0:
        session.run(tf.global_variables_initializer())
    if synchronous:
        begin(session, optimizer, is_chief=index == 0)
    run = session.make_callable(train, feed_list=feeds)
    return lambda: run(*fed), lambda: int(session.run(step))


def begin(session, optimizer, is_chief):
    session.run(optimizer.chief_init_op if is_chief else optimizer.local_step_init_op)
    if is_chief:
        session.run(optimizer.get_init_tokens_op())
        optimizer.get_chief_queue_runner().create_threads(session, daemon=True, start=True)


def replicas(tf, cluster, count, synchronous, model):
    # What they share, they share by name; other figures have names of their own.
    place = f"{cluster.cell}-{model.__name__}-{count}-{synchronous}".replace("_", "-")
    made = []
    for index in range(count):
        with tf.Graph().as_default() as graph, graph.container(place):
            made.append(replica(tf, cluster, index, count, synchronous, model))
    return Training([call for call, _ in made], made[0][1])


def model_of(build, batch):
    def model(tf):
        with tf.variable_scope("model"):
            return loss_of(tf, build, batch)

    model.__name__ = build.__name__
    return model


def figures(tf, cluster, scale):
    for name, (build, batch) in MODELS.items():
        for synchronous in (False, True):
            steps = replicas(tf, cluster, 2, synchronous, model_of(build, batch))
            way = "one step for both" if synchronous else "each its own steps"
            yield Figure(f"{name}, 2 workers, {way}", "updates/s", steps)
    count = many_workers(scale)
    empty = replicas(tf, cluster, count, True, empty_loss)
    yield Figure(f"nothing, {count} workers, one step for all", "updates/s", empty)


def limits(scale):
    return []

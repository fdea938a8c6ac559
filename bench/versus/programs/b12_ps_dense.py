"""B12: a model on one task, read whole by each worker, and a gradient of its size put back."""

import threading

from measure import Figure, Limit, milliseconds
from native import Native

TITLE = "B12 parameter server, dense"
VARIABLES = 64
MB = 1_000_000


def tasks(scale):
    return 1 + max(workers(scale))  # worker:0 is the parameter server


def workers(scale):
    return scale.pick(quick=[1], normal=[1, 2, 4])


def models(scale):
    return scale.pick(quick=[1], normal=[100], full=[100, 1000])


def name_of(megabytes, count, how):
    return f"{megabytes} MB, {count} worker{'s' if count > 1 else ''}" + (
        f", {how}" if count > 1 else ""
    )


def training_step(tf, task, model):
    """What one worker does: reads the model, makes a gradient, has it subtracted where the model is."""
    made = []
    for variable in model:
        with tf.device("/job:worker/task:0"):
            value = tf.identity(variable)
        with tf.device(f"/job:worker/task:{task}"):
            gradient = value * 0.001
        with tf.device("/job:worker/task:0"):
            made.append(tf.assign_sub(variable, gradient).op)
    return tf.group(*made)


class Asynchronous:
    """Workers that go on without each other; a call is a step of each."""

    def __init__(self, steps):
        self._steps = steps

    def __call__(self):
        threads = [threading.Thread(target=step) for step in self._steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def figures(tf, cluster, scale):
    for megabytes in models(scale):
        floats = megabytes * MB // VARIABLES // 4
        with tf.device("/job:worker/task:0"):
            model = [
                tf.Variable(tf.ones([floats]), name=f"model_{megabytes}_{i}")
                for i in range(VARIABLES)
            ]
        per_worker = [training_step(tf, 1 + i, model) for i in range(max(workers(scale)))]
        together = {n: tf.group(*per_worker[:n]) for n in workers(scale)}
        session = tf.Session(cluster.target("worker:0"))
        session.run(tf.group(*[variable.initializer for variable in model]))
        for count in workers(scale):
            step = milliseconds(session.make_callable(together[count]))
            yield Figure(name_of(megabytes, count, "one step for all"), "ms", step)
        if len(per_worker) > 1:
            steps = [session.make_callable(step) for step in per_worker[:2]]
            alone = milliseconds(Asynchronous(steps))
            yield Figure(name_of(megabytes, 2, "each its own step"), "ms", alone)


def limits(scale):
    for megabytes in models(scale):
        size = megabytes * MB // VARIABLES
        step = Native("train", "--reply", size, "--at-once", VARIABLES)
        label = "raw gRPC there and back, and the subtraction"
        yield Limit(name_of(megabytes, 1, ""), label, milliseconds(step))

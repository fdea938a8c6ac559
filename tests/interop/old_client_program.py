"""Programs of TensorFlow 1 as its own client of that time runs them: old_client_program.py STORY JSON.

The JSON object is what the story's function takes. Prints, as the last line, the JSON object that it gives.
Run by test_old_client.py, under Python 3.7.
"""

import contextlib
import json
import os
import sys
import time

import numpy as np
import tensorflow as tf

RATE = 0.1
POINTS = np.linspace(-1.0, 1.0, 9).astype(np.float32)  # of the line y = 3 x + 2


def line(addresses, index):
    """The model of a line, its variables on ps and the rest at this worker: (variables, loss)."""
    spec = tf.train.ClusterSpec(addresses)
    device = "/job:worker/task:%d" % index
    with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=device)):
        slope = tf.get_variable("slope", initializer=0.0)
        offset = tf.get_variable("offset", initializer=0.0)
        loss = tf.reduce_mean(tf.square(slope * POINTS + offset - (3 * POINTS + 2)))
        tf.train.get_or_create_global_step()
    return [slope, offset], loss


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


@contextlib.contextmanager
def beginning_together(targets, index, folder, hooks=()):
    """The session of one of two workers, of which 0 is the chief, when both have one."""
    mine, other = [os.path.join(folder, "worker_%d" % i) for i in (index, 1 - index)]
    if index > 0:  # one that comes before the chief looks for it again in half a minute only
        wait_for(other)
    # The chief's queue runner waits for gradients that never come: its end is not waited for.
    with tf.train.MonitoredTrainingSession(
        targets[index], is_chief=index == 0, hooks=hooks, stop_grace_period_secs=0
    ) as session:
        open(mine, "w").close()
        wait_for(other)
        yield session


def train(addresses, targets, index, folder, steps):
    """Each worker takes its own number of steps, whatever the other does."""
    variables, loss = line(addresses, index)
    step = tf.train.get_global_step()
    optimizer = tf.train.GradientDescentOptimizer(RATE, use_locking=True)
    training = optimizer.minimize(loss, global_step=step)
    losses = []
    with beginning_together(targets, index, folder) as session:
        for _ in range(steps):
            losses.append(session.run([training, loss])[1])
        line_found, count = session.run([variables, step])
    return {
        "line": line_found,
        "global_step": count,
        "losses": losses,
        "devices": [v.device for v in variables],
    }


def train_together(addresses, targets, index, folder, steps):
    """Each step is the mean of two gradients, for which the workers wait for each other."""
    variables, loss = line(addresses, index)
    step = tf.train.get_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(RATE), replicas_to_aggregate=2, total_num_replicas=2
    )
    training = optimizer.minimize(loss, global_step=step)
    hooks = [optimizer.make_session_run_hook(index == 0, num_tokens=0)]
    with beginning_together(targets, index, folder, hooks) as session:
        count = 0
        while count < steps:
            session.run(training)
            count = session.run(step)
        return {"line": session.run(variables), "global_step": count}


def train_and_save(addresses, targets, folder, last_step):
    """Goes on from the checkpoint in the folder, if there is one, and leaves one of the last step."""
    variables, loss = line(addresses, 0)
    step = tf.train.get_global_step()
    training = tf.train.MomentumOptimizer(RATE, 0.5).minimize(loss, global_step=step)
    hooks = [tf.train.StopAtStepHook(last_step=last_step)]
    with tf.train.MonitoredTrainingSession(
        targets[0], checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=100
    ) as session:
        # Which no hook counts as a step.
        began = session.run_step_fn(lambda step_context: step_context.session.run(step))
        while not session.should_stop():
            session.run(training)
            last = session.run_step_fn(lambda step_context: step_context.session.run(variables))
    saved = tf.train.load_checkpoint(folder)
    return {
        "began": began,
        "line": last,
        "saved": [saved.get_tensor(name) for name in ("slope", "offset", "slope/Momentum")],
    }


def shared_queue():
    with tf.device("/job:ps/task:0"):
        return tf.FIFOQueue(3, [tf.int32, tf.string], shapes=[[2], []], shared_name="pairs")


def produce(target, count):
    queue = shared_queue()
    number = tf.placeholder(tf.int32, [])
    put = queue.enqueue([tf.stack([number, number * number]), tf.as_string(number)])
    with tf.Session(target) as session:
        for i in range(count):
            session.run(put, {number: i})
        session.run(queue.close())
    return {}


def consume(target):
    """Takes until the producer has closed the queue and nothing is left."""
    take = shared_queue().dequeue()
    taken = []
    with tf.Session(target) as session:
        while True:
            try:
                numbers, text = session.run(take)
            except tf.errors.OutOfRangeError:
                return {"taken": taken}
            taken.append([*numbers, text.decode()])


def loop(target, functional):
    """x to the power of n, turn by turn, with the product on ps and the counter at the worker."""
    if functional:
        tf.enable_control_flow_v2()
    x = tf.placeholder(tf.float32, [], name="x")
    n = tf.placeholder(tf.int32, [], name="n")

    def turn(i, product):
        with tf.device("/job:ps/task:0"):
            return i + 1, product * x

    with tf.device("/job:worker/task:0"):
        _, power = tf.while_loop(lambda i, _: i < n, turn, [0, 1.0])
        results = [power, *tf.gradients(power, x)]
        if functional:  # a loop of the older kind has no gradient of its gradient
            results += tf.gradients(results[1], x)
    with tf.Session(target) as session:
        return {str(turns): session.run(results, {x: 2.0, n: turns}) for turns in (0, 1, 5)}


def errors(target):
    """The class, the node and the code of what fails, by the kind of failure."""
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    value = tf.placeholder(tf.float32, name="value")
    size = tf.placeholder(tf.int32, [1], name="size")
    variable = tf.get_variable("unset", initializer=1.0)
    ways = {
        "the end of a queue": (queue.dequeue(name="take"), {}),
        "a placeholder without a value": (tf.identity(value), {}),
        "a shape that does not fit": (tf.reshape(tf.ones([6]), size, name="reshape"), {size: [4]}),
        "a variable without a value": (tf.negative(variable, name="negative"), {}),
        "no number": (tf.check_numerics(value, "no number", name="check"), {value: np.nan}),
        "a file that is not there": (tf.read_file("/nowhere/file", name="read"), {}),
    }
    found = {}
    with tf.Session(target) as session:
        session.run(queue.close())
        for way, (fetch, feed) in ways.items():
            try:
                session.run(fetch, feed)
            except tf.errors.OpError as error:
                found[way] = [type(error).__name__, error.op and error.op.name, error.error_code]
        found["after them"] = session.run(tf.constant(7))
    return found


def fit(target):
    """A Keras model that learns which of two numbers is larger; no target: in this process."""
    tf.set_random_seed(7)
    keras = tf.keras
    session = tf.Session(target)
    keras.backend.set_session(session)
    hidden = keras.layers.Dense(8, activation="tanh", input_shape=[2])
    likely = keras.layers.Dense(1, activation="sigmoid")
    model = keras.Sequential([hidden, keras.layers.BatchNormalization(), likely])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
    pairs = np.random.RandomState(3).rand(200, 2).astype(np.float32)
    larger = (pairs[:, 0] > pairs[:, 1]).astype(np.float32)
    learned = model.fit(pairs, larger, batch_size=20, epochs=5, shuffle=False, verbose=0)
    return {
        "losses": [float(loss) for loss in learned.history["loss"]],
        "evaluated": [float(each) for each in model.evaluate(pairs, larger, verbose=0)],
        "predicted": model.predict(pairs[:3])[:, 0],
    }


def estimate(folder):
    """A canned estimator, which finds its cluster in TF_CONFIG; its evaluation runs in this process."""
    columns = [tf.feature_column.numeric_column("x")]
    optimizer = tf.train.FtrlOptimizer(0.5)
    config = tf.estimator.RunConfig(folder, tf_random_seed=1)
    estimator = tf.estimator.LinearRegressor(columns, optimizer=optimizer, config=config)

    def batches():
        data = tf.data.Dataset.from_tensor_slices(({"x": POINTS}, 3 * POINTS + 2))
        return data.repeat().batch(9)

    estimator.train(batches, steps=200)
    found = estimator.evaluate(batches, steps=1)
    names = ["linear/linear_model/x/weights", "linear/linear_model/bias_weights"]
    return {
        "line": [float(estimator.get_variable_value(name)) for name in names],
        "loss": found["average_loss"],
        "global_step": found["global_step"],
        "master": config.master,
    }


def plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


if __name__ == "__main__":
    story = globals()[sys.argv[1]]
    print(json.dumps(story(**json.loads(sys.argv[2])), default=plain))

"""One task that trains by a strategy, for tests: replicating.py ps|collective|alone [FOLDER|- [STEPS]].

A graph of its own with a session on its server; with FOLDER an Estimator. Prints "w" and the weights at the end.
"""

import sys

import numpy as np

import millrace as tf

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
Y = (X @ [[1.0], [-2.0], [0.5]] + 0.3).astype(np.float32)
STEPS = 20


def strategy_of(kind):
    if kind == "ps":
        return tf.distribute.experimental.ParameterServerStrategy()
    if kind == "collective":
        return tf.distribute.experimental.MultiWorkerMirroredStrategy()
    return tf.distribute.OneDeviceStrategy("/cpu:0")


def model(x, y):
    # Each task's first values are its own: the chief's must win.
    task = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id or 0
    w = tf.get_variable("w", initializer=tf.fill([3, 1], float(task)))
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    return tf.matmul(x, w) + b - y


def batches(size):
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(size, drop_remainder=True)


def by_hand(kind, steps=STEPS):
    """The steps of a program that runs replicas itself."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server = None
    if resolver.cluster_spec():
        server = tf.distribute.Server(
            resolver.cluster_spec(), resolver.task_type, resolver.task_id or 0
        )
    if resolver.task_type == "ps":
        server.join()
    strategy = strategy_of(kind)
    with strategy.scope():
        step = tf.train.create_global_step()
        iterator = strategy.make_dataset_iterator(batches(8))

        def replica(inputs):
            loss = tf.reduce_sum(tf.square(model(*inputs))) / 8.0
            return tf.train.MomentumOptimizer(0.05, 0.5).minimize(loss, step)

        train = strategy.group(strategy.experimental_run_v2(replica, args=(iterator.get_next(),)))
        extended = strategy.extended
        scaffold = tf.train.Scaffold(
            local_init_op=tf.group(tf.tables_initializer(), *iterator.initialize())
        )
        places = sorted({v.device for v in tf.global_variables()})
        with tf.train.MonitoredTrainingSession(
            server.target if server else "",
            is_chief=extended.experimental_should_init,
            scaffold=scaffold,
            hooks=[tf.train.StopAtStepHook(last_step=int(steps))],
            log_step_count_steps=None,
        ) as session:
            while not session.should_stop():
                session.run(train)
                values = session.run_step_fn(
                    lambda step_context: step_context.session.run(tf.trainable_variables())
                )
    print("places", *places)
    print("w", *[f"{x:.6f}" for value in values for x in value.ravel()])


def model_fn(features, labels, mode):
    loss = tf.losses.mean_squared_error(tf.zeros_like(labels), model(features, labels))
    optimizer = tf.train.MomentumOptimizer(0.05, 0.5)
    train = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def by_estimator(kind, folder, steps=STEPS):
    def input_fn(input_context=None):
        whole = batches(4)
        if input_context is None:
            return batches(8)
        return whole.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)

    config = tf.estimator.RunConfig(
        folder, save_checkpoints_steps=10, train_distribute=strategy_of(kind)
    )
    estimator = tf.estimator.Estimator(model_fn, config=config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=int(steps)),
        tf.estimator.EvalSpec(lambda: batches(8), steps=1, throttle_secs=0),
    )
    # What others find at their end, the chief may still be saving.
    values = [estimator.get_variable_value(name) for name in ("w", "b") if config.is_chief]
    print("w", *[f"{x:.6f}" for value in values for x in value.ravel()])


if __name__ == "__main__":
    kind, *place = sys.argv[1:]
    if place[:1] in ([], ["-"]):
        by_hand(kind, *place[1:])
    else:
        by_estimator(kind, *place)

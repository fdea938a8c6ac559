"""Programs that train by a strategy on two CPU devices, in graphs.

`python3 strategy_programs.py tensorflow` (or `millrace`) prints a JSON object: what each program's session gave. Run
by test_strategies_beside_tensorflow.py.
"""

import json
import sys

import numpy as np
from programs import module_named

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
Y = (X @ [[1.0], [-2.0], [0.5]] + 0.3).astype(np.float32)
OPTIMIZERS = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
}


def run(strategy, function, args=()):
    """By the name that each has for it."""
    return getattr(strategy, "experimental_run_v2", strategy.run)(function, args=args)


def trained(tf, session, strategy, optimizer):
    """The names and values of all that is trained, and of slots, after three steps."""
    step = tf.train.create_global_step()
    iterator = strategy.make_dataset_iterator(
        tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(8, drop_remainder=True)
    )

    def replica(inputs):
        x, y = inputs
        w = tf.get_variable("w", initializer=tf.ones([3, 1]))
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w) + b - y)) / 8.0
        return optimizer.minimize(loss, step), loss

    train, losses = run(strategy, replica, (iterator.get_next(),))
    loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
    session.run([iterator.initialize(), tf.global_variables_initializer()])
    told = []
    for _ in range(3):
        told.append(session.run([strategy.group(train), loss])[1])
    saved = tf.train.Saver()
    variables = {
        v.op.name: session.run(v) for v in tf.global_variables() if "replica_1" not in v.name
    }
    return told, variables, len(saved.saver_def.SerializeToString()) > 0


def reduced(tf, session, strategy):
    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.cast(tf.stack([number + 1, 3 * number]), tf.float32)

    made = run(strategy, replica)
    ops = tf.distribute.ReduceOp
    return [
        session.run(strategy.reduce(op, made, axis=axis))
        for op in (ops.SUM, ops.MEAN)
        for axis in (None, 0)
    ]


def assigned(tf, session, strategy):
    kinds = tf.VariableAggregation
    made = [
        tf.Variable(1.0, aggregation=kind)
        for kind in (kinds.SUM, kinds.MEAN, kinds.ONLY_FIRST_REPLICA)
    ]

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        own = tf.cast(number, tf.float32) + 1.0
        return [made[0].assign_add(own), made[1].assign_sub(own), made[2].assign(own * 5.0)]

    updates = run(strategy, replica)
    session.run(tf.global_variables_initializer())
    session.run([strategy.experimental_local_results(each) for each in updates])
    return session.run(made)


def gathered(tf, session, strategy):
    """Slices of gradients from both replicas."""
    table = tf.get_variable("table", initializer=tf.ones([4, 2]))

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        loss = tf.reduce_sum(tf.square(tf.gather(table, tf.stack([number, 3]))))
        return tf.train.GradientDescentOptimizer(0.25).minimize(loss)

    train = strategy.group(run(strategy, replica))
    session.run(tf.global_variables_initializer())
    session.run(train)
    return session.run(table)


def read(tf, session, strategy):
    """Variables that are on read, in replicas and above them."""
    way = tf.VariableSynchronization.ON_READ
    made = [
        tf.get_variable(kind.name.lower(), initializer=0.0, synchronization=way, aggregation=kind)
        for kind in (tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN)
    ]

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.group(*[v.assign_add(tf.cast(number, tf.float32) + 1.0) for v in made])

    updates = strategy.group(run(strategy, replica))
    together = [tf.identity(strategy.extended.read_var(v)) for v in made]
    together += [strategy.reduce(tf.distribute.ReduceOp.SUM, v, axis=None) for v in made]
    session.run(tf.global_variables_initializer())
    session.run(updates)
    return session.run(together)


def averaged(tf, session, strategy):
    """The names and values of a variable that is trained, and of its average."""
    trained = tf.get_variable("trained", initializer=1.0)
    averages = tf.train.ExponentialMovingAverage(0.5)

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        loss = trained * (tf.cast(number, tf.float32) + 1.0)
        step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        with tf.control_dependencies([step]):
            return averages.apply([trained])

    update = strategy.group(run(strategy, replica))
    session.run(tf.global_variables_initializer())
    session.run(update)
    return {v.op.name: session.run(v) for v in tf.global_variables() if "replica_1" not in v.name}


def main():
    tf = module_named(sys.argv[1])
    config = tf.ConfigProto(device_count={"CPU": 2})
    results = {}
    programs = {
        f"trained by {name}": lambda *given, name=name: trained(*given, OPTIMIZERS[name](tf))
        for name in OPTIMIZERS
    }
    programs |= {each.__name__: each for each in (reduced, assigned, gathered, read, averaged)}
    for name, program in programs.items():
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
            with strategy.scope():
                results[name] = program(tf, session, strategy)
    json.dump(results, sys.stdout, default=lambda value: value.tolist())


if __name__ == "__main__":
    main()

"""One task of a training job, for tests: parameters on ps, each worker trains until a file appears.

Prints "step N" after each step, "ended" at the end. Task 0 of the workers is the chief.
"""

import argparse
import json
import os
import sys

import millrace as tf


def squared_error():
    """y = 2 x - 1 from points on the line."""
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
    x = tf.random_uniform([32], -1.0, 1.0)
    return tf.reduce_mean(tf.square(weight * x + bias - (2.0 * x - 1.0)))


def build(workers, index, staleness):
    """(what trains, the loss, the hooks).

    `workers`: how many train in step with each other, or at most `staleness` steps apart if that is given; 0 for
    each on its own.
    """
    loss = squared_error()
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.GradientDescentOptimizer(0.05)
    if staleness is not None:
        optimizer = tf.train.BoundedStalenessOptimizer(optimizer, workers, index, staleness)
    elif workers:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers)
    train = optimizer.minimize(loss, global_step=step)
    if not workers:
        return train, loss, []
    is_chief = [] if staleness is not None else [index == 0]
    return train, loss, [optimizer.make_session_run_hook(*is_chief)]


def train_as_equals(config, server, options):
    """Trains with variables of its own, which an all-reduce keeps equal to those of all others."""
    workers, index = len(config["cluster"]["worker"]), config["task"]["index"]
    optimizer = tf.train.AllReduceOptimizer(tf.train.GradientDescentOptimizer(0.05), workers)
    loss = squared_error()
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, global_step=step)
    # All end after the same step: the first that any of them takes for the last.
    ends = tf.placeholder(tf.float32, [])
    who_ends = optimizer.all_reduce(ends, merge_op="Max")
    with tf.train.MonitoredTrainingSession(
        server.target,
        hooks=[optimizer.make_session_run_hook(index == 0)],
        checkpoint_dir=options.checkpoints if index == 0 else None,
        save_checkpoint_secs=None,
        save_checkpoint_steps=20,
        config=tf.ConfigProto(device_filters=[f"/job:worker/task:{index}"]),
    ) as session:
        over = 0.0
        while over == 0.0 and not session.should_stop():
            wants_to = float(os.path.exists(options.until))
            _, value, at, over = session.run([train, loss, step, who_ends], {ends: wants_to})
            print(f"step {at} loss {value:.6f}")
    print("ended")


def train_in_lockstep(config, server, options):
    """Trains with variables on ps, all workers in step with each other, until the chief names the last one."""
    workers, index = len(config["cluster"]["worker"]), config["task"]["index"]
    with tf.device(
        tf.train.replica_device_setter(
            cluster=config["cluster"], worker_device=f"/job:worker/task:{index}"
        )
    ):
        loss = squared_error()
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.LockstepOptimizer(
            tf.train.GradientDescentOptimizer(0.05), workers, index
        )
        train = optimizer.minimize(loss, global_step=step)
        last = tf.get_variable("last", [], tf.int64, tf.constant_initializer(1 << 40))
        name_last = last.assign(step + 5)
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=index == 0,
        checkpoint_dir=options.checkpoints,
        save_checkpoint_secs=None,
        save_checkpoint_steps=20,
        max_wait_secs=50,
    ) as session:
        at, end, named = 0, 1, False
        while at < end:
            _, value = session.run([train, loss])
            # Nobody can finish the next step alone, so all see the same.
            at, end = session.run([step, last])
            print(f"step {at} loss {value:.6f}")
            if index == 0 and not named and os.path.exists(options.until):
                session.run(name_last)
                named = True
    print("ended")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--until", required=True, help="trains until this file is there")
    parser.add_argument("--checkpoints", help="a folder for checkpoints")
    parser.add_argument("--sync", action="store_true", help="all workers in step with each other")
    parser.add_argument("--bounded", type=int, help="no more steps than so many ahead of others")
    parser.add_argument("--all-reduce", action="store_true", help="without ps, by all-reduce")
    parser.add_argument("--lockstep", action="store_true", help="in step, by LockstepOptimizer")
    options = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.INFO)

    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        print("serving")
        server.join()
    if options.all_reduce:
        return train_as_equals(config, server, options)
    if options.lockstep:
        return train_in_lockstep(config, server, options)
    setter = tf.train.replica_device_setter(
        cluster=config["cluster"], worker_device=f"/job:worker/task:{index}"
    )
    with tf.device(setter):
        together = options.sync or options.bounded is not None
        workers = len(config["cluster"]["worker"]) if together else 0
        train, loss, hooks = build(workers, index, options.bounded)
    is_chief = index == 0
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=is_chief,
        hooks=hooks,
        checkpoint_dir=options.checkpoints,
        save_checkpoint_secs=None,
        save_checkpoint_steps=20 if options.checkpoints else None,
        max_wait_secs=50,
    ) as session:
        # In step with the others only the chief may leave: they would wait for who is gone.
        while not session.should_stop() and (
            options.sync and not is_chief or not os.path.exists(options.until)
        ):
            _, value, step = session.run([train, loss, tf.train.get_global_step()])
            print(f"step {step} loss {value:.6f}")
        print(f"ended at {session.run(tf.train.get_global_step())}")
    print("ended")


if __name__ == "__main__":
    sys.exit(main())

"""One task of a job whose workers train copies of their own, for tests: copies_trainer.py KIND STEPS.

KIND is "elastic", "mean", "gradients" or "stale". Worker i has the gradient i + 1, so that each step's outcome is
known. Prints what the variables are at the end; task 0 of the workers is the chief, and ends last.
"""

import argparse
import json
import os
import sys

import millrace as tf

RATE, PERIOD = 0.25, 2


def optimizer_of(kind, worker_device, workers, is_chief):
    """(the custom getter or None, a function that makes the optimizer)."""
    descent = tf.train.GradientDescentOptimizer(RATE)
    opt = tf.contrib.opt
    if kind == "elastic":
        getter = opt.ElasticAverageCustomGetter(worker_device)
        return getter, lambda: opt.ElasticAverageOptimizer(
            descent, workers, getter, PERIOD, moving_rate=0.25, rho=0.0, synchronous=True
        )
    if kind == "mean":
        getter = opt.ModelAverageCustomGetter(worker_device)
        return getter, lambda: opt.ModelAverageOptimizer(descent, workers, is_chief, getter, PERIOD)
    if kind == "gradients":
        getter = opt.AGNCustomGetter(worker_device)
        return getter, lambda: opt.AGNOptimizer(descent, workers, getter, PERIOD)
    return None, lambda: opt.DropStaleGradientOptimizer(descent, 1000)


def hooks_of(kind, optimizer, is_chief, index):
    if kind == "stale":
        return []
    if kind == "mean":
        return [optimizer.make_session_run_hook()]
    return [optimizer.make_session_run_hook(is_chief, index)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("steps", type=int)
    options = parser.parse_args()
    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        server.join()
    workers, is_chief = len(config["cluster"]["worker"]), index == 0
    worker_device = f"/job:worker/task:{index}"
    getter, make = optimizer_of(options.kind, worker_device, workers, is_chief)
    placed = tf.train.replica_device_setter(cluster=config["cluster"], worker_device=worker_device)
    with tf.device(placed):
        with tf.variable_scope("", custom_getter=getter):
            weight = tf.get_variable("weight", [2], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        optimizer = make()
        train = optimizer.minimize(-(index + 1.0) * tf.reduce_sum(weight), global_step=step)
        over = tf.get_variable("over", [], tf.int32, tf.zeros_initializer(), trainable=False)
        end = tf.assign_add(over, 1, use_locking=True)
    center = next((v for v in tf.global_variables() if v.op.name.endswith("/weight")), weight)
    hooks = hooks_of(options.kind, optimizer, is_chief, index)
    with tf.train.MonitoredTrainingSession(
        server.target, is_chief=is_chief, hooks=hooks, save_summaries_steps=None
    ) as session:
        for _ in range(options.steps):
            session.run(train)
        session.run(end)
        while session.run(over) < workers:
            pass  # every worker has made its last step
        own, common, steps = session.run([weight, center, step])
        print(
            f"ended own {own[1]:g} common {common[1]:g} step {steps} on {weight.device}", flush=True
        )
        session.run(end)
        while session.run(over) < 2 * workers:
            pass  # nobody leaves while another reads


if __name__ == "__main__":
    sys.exit(main())

"""One task of a job whose tasks do not share their disks, for tests: bare_trainer.py FOLDER STEPS [--shared].

Each task works in a folder of its own; checkpoints go to the relative path "model", which is another one for
each. The workers' task 0 is the chief, and has the files. Prints a weight of each ps at the end.
"""

import argparse
import json
import os
import sys

import millrace as tf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("steps", type=int)
    parser.add_argument("--shared", action="store_true", help="saves as if all saw the same files")
    options = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.INFO)
    os.makedirs(options.folder, exist_ok=True)
    os.chdir(options.folder)
    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"])):
        weights = [
            tf.get_variable(f"w{i}", [1000], initializer=tf.zeros_initializer()) for i in (0, 1)
        ]
        step = tf.train.get_or_create_global_step()
        train = tf.group(*[w.assign_add(tf.ones([1000])) for w in weights], step.assign_add(1))
    where = None if options.shared else "/job:worker/task:0"
    saver = tf.train.Saver(sharded=options.shared, saving_device=where)
    with tf.train.MonitoredTrainingSession(
        server.target,
        checkpoint_dir="model",
        scaffold=tf.train.Scaffold(saver=saver),
        hooks=[tf.train.StopAtStepHook(last_step=options.steps)],
        save_checkpoint_steps=10,
        save_checkpoint_secs=None,
    ) as session:
        while not session.should_stop():
            _, values = session.run([train, weights])
    print(f"ended with {values[0][0]:g} {values[1][999]:g}")


if __name__ == "__main__":
    sys.exit(main())

"""What the examples for clusters begin with: which task this is, and its server."""

import millrace as tf


def start():
    """(the RunConfig, the Server). Tasks that have no program of their own stay here until they are stopped."""
    config = tf.contrib.learn.RunConfig()
    server = tf.train.Server(
        config.cluster_spec, job_name=config.task_type, task_index=config.task_id
    )
    if config.task_type in ("ps", "tower"):
        server.join()
    return config, server


def replica():
    """(target, which worker this is, where nodes go); variables are on ps, and worker 0 is the chief."""
    config, server = start()
    place = tf.train.replica_device_setter(
        cluster=config.cluster_spec, worker_device=f"/job:worker/task:{config.task_id}"
    )
    return server.target, config.task_id, place

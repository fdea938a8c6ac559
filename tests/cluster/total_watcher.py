"""Waits until every name in the seed's queue is acknowledged, and prints the total that then stands.

A task beside those of examples/seed_word_count.py, in a job of its own.
"""

import time

import millrace as tf

config = tf.contrib.learn.RunConfig()
server = tf.train.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
with tf.device("/job:files/task:0"):
    names = tf.FIFOQueue(capacity=10, dtypes=[tf.string], shared_name="filename_queue")
with tf.device("/job:reduce/task:0"):
    total = tf.Variable(0, name="total")
left = [names.is_closed(), names.size(), names.lease_counts()]

# Mappers come and go while it begins.
filters = tf.ConfigProto(device_filters=["/job:files", "/job:reduce"])
session = tf.Session(server.target, config=filters)
while True:
    closed, size, (lent, dead) = session.run(left)
    if closed and size == 0 and lent == 0:
        break
    time.sleep(0.1)
print(f"total: {session.run(total)} words, {dead} dead letters", flush=True)

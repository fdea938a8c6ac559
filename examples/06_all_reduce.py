"""Replicas without parameter servers: each has all variables, and all of them stay equal.

    millrace run --job worker=3 -- python3 examples/06_all_reduce.py
"""

import millrace as tf

import cluster_task
import digits

config, server = cluster_task.start()
pictures, labels = digits.load(2000)
test_pictures, test_labels = digits.load(500, seed=1)

x = tf.placeholder(tf.float32, [None, 64])
y = tf.placeholder(tf.int64, [None])
first, second = tf.glorot_uniform_initializer(1), tf.glorot_uniform_initializer(2)
hidden = tf.layers.dense(x, 64, tf.nn.relu, kernel_initializer=first)
logits = tf.layers.dense(hidden, 10, kernel_initializer=second)
loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
step = tf.train.get_or_create_global_step()
optimizer = tf.train.AllReduceOptimizer(tf.train.AdamOptimizer(0.005), config.num_worker_replicas)
train = optimizer.minimize(loss, global_step=step)

final = tf.train.FinalOpsHook(accuracy, {x: test_pictures, y: test_labels})
# Each replica is the chief of its own variables; those of worker 0 are the ones that count.
hooks = [
    optimizer.make_session_run_hook(config.is_chief),
    tf.train.StopAtStepHook(last_step=200),
    final,
]
batches = digits.batches(pictures, labels, 32, seed=config.task_id)
alone = tf.ConfigProto(device_filters=[f"/job:worker/task:{config.task_id}"])
with tf.train.MonitoredTrainingSession(server.target, hooks=hooks, config=alone) as session:
    while not session.should_stop():
        batch_x, batch_y = next(batches)
        _, value, at = session.run([train, loss, step], {x: batch_x, y: batch_y})
        if at % 100 == 0:
            print(f"step {at} loss {value:.3f}")
print(f"accuracy {final.final_ops_values:.3f}")

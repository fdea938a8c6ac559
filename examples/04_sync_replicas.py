"""The digits of 02 with all workers in step: a step is the mean of what each of them found.

    millrace run --job ps=1 --job worker=2 -- python3 examples/04_sync_replicas.py

The gradients of a step are gathered on the ps; those that began before it are dropped.
"""

import millrace as tf

import cluster_task
import digits

pictures, labels = digits.load(2000)
test_pictures, test_labels = digits.load(500, seed=1)
target, index, place = cluster_task.replica()
workers = tf.contrib.learn.RunConfig().num_worker_replicas
with tf.device(place):
    x = tf.placeholder(tf.float32, [None, 64])
    y = tf.placeholder(tf.int64, [None])
    hidden = tf.layers.dense(x, 64, tf.nn.relu)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(0.005), workers)
    train = optimizer.minimize(loss, global_step=step)

batches = digits.batches(pictures, labels, 64, seed=index)
final = tf.train.FinalOpsHook(accuracy, {x: test_pictures, y: test_labels})
hooks = [optimizer.make_session_run_hook(index == 0), tf.train.StopAtStepHook(last_step=500), final]
with tf.train.MonitoredTrainingSession(target, index == 0, hooks=hooks) as session:
    while not session.should_stop():
        batch_x, batch_y = next(batches)
        _, value, at = session.run([train, loss, step], {x: batch_x, y: batch_y})
        if at % 100 == 0:
            print(f"step {at} loss {value:.3f}")
print(f"accuracy {final.final_ops_values:.3f}")

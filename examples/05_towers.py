"""One program, one session, several devices: each tower has a part of every batch.

    millrace run --job chief=1 --job tower=2 -- python3 examples/05_towers.py

The chief has the variables, builds the graph for all, and runs it; the towers only lend their devices.
"""

import millrace as tf

import cluster_task
import digits

config, server = cluster_task.start()
pictures, labels = digits.load(2000)
towers = config.cluster_spec.num_tasks("tower")
x = tf.placeholder(tf.float32, [None, 64])
y = tf.placeholder(tf.int64, [None])
optimizer = tf.train.GradientDescentOptimizer(0.3)
gradients, losses = [], []
for tower, (part_x, part_y) in enumerate(zip(tf.split(x, towers), tf.split(y, towers))):
    place = tf.train.replica_device_setter(1, "/job:chief", f"/job:tower/task:{tower}")
    first, second = tf.glorot_uniform_initializer(1), tf.glorot_uniform_initializer(2)
    with tf.device(place), tf.variable_scope("model", reuse=tower > 0):
        hidden = tf.layers.dense(part_x, 32, tf.nn.relu, kernel_initializer=first)
        logits = tf.layers.dense(hidden, 10, kernel_initializer=second)
        losses.append(tf.losses.sparse_softmax_cross_entropy(part_y, logits))
        gradients.append(optimizer.compute_gradients(losses[-1]))
means = [
    (tf.add_n([gradient for gradient, _ in pairs]) / towers, pairs[0][1])
    for pairs in zip(*gradients)
]
train = optimizer.apply_gradients(means)
loss = tf.add_n(losses) / towers

with tf.Session(server.target) as session:
    session.run(tf.global_variables_initializer())
    batches = digits.batches(pictures, labels, 32 * towers, seed=0)
    for step in range(1, 301):
        batch_x, batch_y = next(batches)
        _, value = session.run([train, loss], {x: batch_x, y: batch_y})
        if step % 100 == 0:
            print(f"step {step} loss {value:.3f}")

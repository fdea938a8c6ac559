"""An embedding table that is too large for one ps: its rows are spread over two.

    millrace run --job ps=2 --job worker=1 -- python3 examples/07_sharded_embedding.py

A step fetches the rows that its batch names, from whichever ps has them, and sends back their gradients.
The model learns which users like which items from what they clicked.
"""

import numpy as np

import millrace as tf

import cluster_task

USERS, ITEMS, TASTES = 300, 200, 4
target, index, place = cluster_task.replica()
random = np.random.RandomState(0)
likes = random.randn(USERS, TASTES) @ random.randn(ITEMS, TASTES).T > 0

with tf.device(place):
    user, item = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    liked = tf.placeholder(tf.float32, [None])
    shards = tf.fixed_size_partitioner(2)
    users = tf.get_variable("users", [USERS, 8], partitioner=shards)
    items = tf.get_variable("items", [ITEMS, 8], partitioner=shards)
    score = tf.reduce_sum(
        tf.nn.embedding_lookup(users, user, "div") * tf.nn.embedding_lookup(items, item, "div"), 1
    )
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=liked, logits=score)
    loss, step = tf.reduce_mean(losses), tf.train.get_or_create_global_step()
    train = tf.train.AdagradOptimizer(0.2).minimize(tf.reduce_sum(losses), step)

hooks = [tf.train.StopAtStepHook(last_step=300)]
with tf.train.MonitoredTrainingSession(target, index == 0, hooks=hooks) as session:
    for name, parts in [("users", users), ("items", items)]:
        for part in parts:
            print(f"{name}: rows {part.shape} on {part.device}")
    while not session.should_stop():
        u, i = random.randint(0, USERS, 256), random.randint(0, ITEMS, 256)
        _, value = session.run([train, loss], {user: u, item: i, liked: likes[u, i]})
    print(f"loss {value:.3f}")

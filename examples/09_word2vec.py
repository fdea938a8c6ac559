"""Finds out from their neighbours which words are alike (skip-gram with noise-contrastive estimation).

    python3 examples/09_word2vec.py
"""

import numpy as np

import millrace as tf

# Sentences in which animals do what animals do, and fruits what fruits do.
ANIMALS, FRUITS = "cat dog horse cow".split(), "apple pear plum cherry".split()
DO, ARE = "runs sleeps eats drinks".split(), "sweet ripe green peeled".split()
WORDS = ["the", "a", "is", *ANIMALS, *FRUITS, *DO, *ARE]
random = np.random.RandomState(0)
sentences = [
    [random.choice(["the", "a"]), random.choice(ANIMALS), random.choice(DO)]
    if random.rand() < 0.5
    else [random.choice(["the", "a"]), random.choice(FRUITS), "is", random.choice(ARE)]
    for _ in range(2000)
]
pairs = np.array(
    [
        (WORDS.index(word), WORDS.index(other))
        for sentence in sentences
        for at, word in enumerate(sentence)
        for other in sentence[max(0, at - 2) : at] + sentence[at + 1 : at + 3]
    ]
)

tf.set_random_seed(0)
centre, near = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None, 1])
table = tf.Variable(tf.random_uniform([len(WORDS), 16], -1.0, 1.0))
weights = tf.Variable(tf.truncated_normal([len(WORDS), 16], stddev=0.25))
biases = tf.Variable(tf.zeros([len(WORDS)]))
loss = tf.reduce_mean(
    tf.nn.nce_loss(weights, biases, near, tf.nn.embedding_lookup(table, centre), 8, len(WORDS))
)
train = tf.train.AdagradOptimizer(0.5).minimize(loss)
unit = tf.nn.l2_normalize(table, 1)
alike = tf.matmul(unit, unit, transpose_b=True)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(1, 1501):
        batch = pairs[random.randint(0, len(pairs), 128)]
        _, value = session.run([train, loss], {centre: batch[:, 0], near: batch[:, 1:]})
        if step % 500 == 0:
            print(f"step {step} loss {value:.3f}")
    for word in ["cat", "apple", "runs", "sweet"]:
        order = np.argsort(-session.run(alike)[WORDS.index(word)])
        print(f"{word}: {' '.join(WORDS[i] for i in order[1:4])}")

"""Learns the letters of a text, one after the other, and goes on writing it.

    python3 examples/08_lstm_text.py
"""

import numpy as np

import millrace as tf

TEXT = "the river turns the wheel, the wheel turns the stone, the stone grinds the corn. " * 8
LETTERS = sorted(set(TEXT))
BATCH, STEPS, UNITS = 8, 24, 64

tf.set_random_seed(8)  # the same first weights in every run
codes = np.array([LETTERS.index(letter) for letter in TEXT])
letters = tf.placeholder(tf.int32, [None, None])
cell = tf.nn.rnn_cell.LSTMCell(UNITS)
size = tf.shape(letters)[0]
before = cell.zero_state(size, tf.float32)
output, after = tf.nn.dynamic_rnn(cell, tf.one_hot(letters, len(LETTERS)), initial_state=before)
logits = tf.layers.dense(output, len(LETTERS))
following = tf.placeholder(tf.int32, [None, None])
loss = tf.losses.sparse_softmax_cross_entropy(following, logits)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
best = tf.argmax(logits[:, -1], 1)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    random = np.random.RandomState(0)
    for step in range(1, 151):
        starts = random.randint(0, len(codes) - STEPS - 1, BATCH)
        pieces = np.array([codes[start : start + STEPS + 1] for start in starts])
        _, value = session.run([train, loss], {letters: pieces[:, :-1], following: pieces[:, 1:]})
        if step % 50 == 0:
            print(f"step {step} loss {value:.3f}")
    written, state = "the river", None
    for _ in range(60):
        new = [[LETTERS.index(letter) for letter in (written if state is None else written[-1])]]
        feeds = {letters: new} if state is None else {letters: new, before: state}
        (code,), state = session.run([best, after], feeds)
        written += LETTERS[code]
    print(written)

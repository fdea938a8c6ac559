"""Finds the line that points lie on.

    python3 examples/01_linear_regression.py
"""

import numpy as np

import millrace as tf

points = np.random.RandomState(0).uniform(-1, 1, [100]).astype(np.float32)

x = tf.placeholder(tf.float32, [None], name="x")
y = tf.placeholder(tf.float32, [None], name="y")
weight = tf.Variable(0.0, name="weight")
bias = tf.Variable(0.0, name="bias")
loss = tf.reduce_mean(tf.square(weight * x + bias - y))
train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(100):
        _, value = session.run([train, loss], {x: points, y: 2 * points - 1})
        if step % 20 == 0:
            print(f"step {step} loss {value:.6f}")
    print("y = {:.3f} x + {:.3f}".format(*session.run([weight, bias])))

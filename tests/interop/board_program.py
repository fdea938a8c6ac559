"""Trains a line and shows TensorBoard all of it: board_program.py millrace FOLDER."""

import sys

import numpy as np

import millrace as tf


def main():
    x = tf.placeholder(tf.float32, [None], name="x")
    slope = tf.Variable(0.0, name="slope")
    with tf.name_scope("fit"):
        loss = tf.reduce_mean(tf.square(slope * x - 2 * x), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("errors", slope * x - 2 * x)
    tf.summary.image("picture", tf.reshape(tf.tile(x, [4]), [1, 4, 4, 1]))
    tf.summary.audio("tone", tf.reshape(tf.sin(tf.linspace(0.0, 99.0, 800)), [1, 800]), 8000.0)
    tf.summary.text("note", tf.constant("a *line*"))
    shown = tf.summary.merge_all()
    with tf.Session() as session, tf.summary.FileWriter(sys.argv[2], session.graph) as writer:
        session.run(tf.global_variables_initializer())
        feeds = {x: np.arange(4, dtype=np.float32)}
        for step in range(3):
            traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            metadata = tf.RunMetadata()
            summary, value, _ = session.run([shown, loss, train], feeds, traced, metadata)
            writer.add_summary(summary, step)
            writer.add_run_metadata(metadata, f"step {step}", step)
            print(float(value))


if __name__ == "__main__":
    main()

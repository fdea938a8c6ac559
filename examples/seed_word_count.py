"""Counts words on four processes, as plainly as the API allows.

Every process runs this file with its own TF_CONFIG (see `millrace config`): one `files` task hands
out file names through a queue, `map` tasks count the words of a file each time they get a name, and
one `reduce` task owns the total. The names are in filenames.txt, one per line.

Only TensorFlow 1's API is used: with `import tensorflow as tf` in place of the import below it is a
TensorFlow program. There, have more files than `map` tasks: a session begins when all tasks are there, one
that finds nothing to do ends, and another may not have begun yet. Millrace waits for no task that has
ended well. `files` and `reduce` run until they are stopped; see word_count.py for a program that knows
when it is finished.
"""

from __future__ import print_function

import io
import time

import millrace as tf

config = tf.contrib.learn.RunConfig()
server = tf.train.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
session = tf.Session(server.target)

# Every task runs this line, and there is one queue: the device and the shared name say which.
with tf.device("/job:files/task:0"):
    filename_queue = tf.FIFOQueue(capacity=10, dtypes=[tf.string], shared_name="filename_queue")

if config.task_type == "files":
    filename = tf.placeholder(tf.string)
    enqueue = filename_queue.enqueue(filename)
    close = filename_queue.close()
    for line in open("filenames.txt"):
        session.run(enqueue, feed_dict={filename: line.strip()})
    session.run(close)
    server.join()

# Likewise one variable: the device and the name say which.
with tf.device("/job:reduce/task:0"):
    total_word_count = tf.Variable(0, name="total")

if config.task_type == "reduce":
    initialize = tf.global_variables_initializer()
    session.run(initialize)
    while True:
        print(session.run(total_word_count), "words so far")
        time.sleep(2)

if config.task_type == "map":
    dequeue = filename_queue.dequeue()
    word_count = tf.placeholder(tf.int32)
    add_to_total = tf.assign_add(total_word_count, word_count, use_locking=True)
    while True:
        try:
            path = session.run(dequeue)
        except tf.errors.OutOfRangeError:
            break
        text = io.open(path, encoding="utf-8").read()
        num_words = len(text.split())
        time.sleep(5)
        print(num_words, "words in", path.decode())
        session.run(add_to_total, feed_dict={word_count: num_words})

"""One client program of a word count; the tasks behind it only serve.

Usage: TF_CONFIG=… word_count_client.py FILENAMES [--uncaught-end]

A `files` client hands out the names in the file FILENAMES through a queue on files:0, each `map` client
counts the words of a file every time it gets a name, the `reduce` client owns the total on reduce:0 and
prints it until it is stopped. Each talks to the server of its own task. It is TensorFlow 1's program
of that kind in the words of TensorFlow 2; only that the server is another process is new.
"""

import json
import os
import sys
import time

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

config = json.loads(os.environ["TF_CONFIG"])
task_type, task_index = config["task"]["type"], config["task"]["index"]
session = tf.Session("grpc://" + config["cluster"][task_type][task_index])

with tf.device("/job:files/task:0"):
    filename_queue = tf.FIFOQueue(capacity=10, dtypes=[tf.string], shared_name="filename_queue")

if task_type == "files":
    filename = tf.placeholder(tf.string)
    enqueue = filename_queue.enqueue(filename)
    close = filename_queue.close()
    with open(sys.argv[1]) as lines:
        for line in lines:
            session.run(enqueue, feed_dict={filename: line.strip()})
    session.run(close)
    sys.exit()

with tf.device("/job:reduce/task:0"):
    total_word_count = tf.Variable(0, name="total", use_resource=False)

if task_type == "reduce":
    session.run(tf.global_variables_initializer())
    while True:
        print(session.run(total_word_count), "words so far", flush=True)
        time.sleep(0.05)

dequeue = filename_queue.dequeue()
word_count = tf.placeholder(tf.int32)
add_to_total = tf.assign_add(total_word_count, word_count, use_locking=True)
initialised = tf.is_variable_initialized(total_word_count)
while not session.run(initialised):
    time.sleep(0.05)
while True:
    try:
        path = session.run(dequeue)
    except tf.errors.OutOfRangeError:
        if "--uncaught-end" in sys.argv:
            raise
        break
    with open(path, encoding="utf-8") as text:
        num_words = len(text.read().split())
    print(num_words, "words in", path.decode(), flush=True)
    session.run(add_to_total, feed_dict={word_count: num_words})

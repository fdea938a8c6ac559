"""Counts words on a cluster of which every task may be killed at any moment, and is started again.

    millrace run --once --state DIR --restart files --restart reduce --restart map=100 \
        --job files=1 --job reduce=1 --job map=3 --job watch=1 --until watch,map -- \
        python3 kept_word_count.py --texts LIST

The queue and the total outlive their tasks. So each task first asks how far its work is: `files` puts all
names in by one step, and then closes the queue; until it is closed nobody takes any. `reduce` sets the total
if nobody has. Who works with a task that has died waits for it, and goes on.
"""

import argparse
import os
import time

import millrace as tf


class Program:
    """What the tasks share, and the work of each."""

    def __init__(self, texts, pause, last):
        self._texts, self._pause, self._last = texts, pause, last
        with tf.device("/job:files/task:0"):
            names = tf.FIFOQueue(-1, [tf.string], shapes=[()], shared_name="names")
            self._all_names = tf.placeholder(tf.string, [None])
            self._put, self._close = names.enqueue_many([self._all_names]), names.close()
            self._is_closed, self._size = names.is_closed(), names.size()
            self._lent = names.lease_counts()
            self._take = names.dequeue()
        with tf.device("/job:reduce/task:0"):
            self._total = tf.Variable(tf.constant(0, tf.int64), name="total")
            self._has_total = tf.is_variable_initialized(self._total)
            self._words = tf.placeholder(tf.int64, [])
            self._add = tf.assign_add(self._total, self._words, use_locking=True).op

    def files(self, session):
        if session.run(self._is_closed):
            return
        if session.run(self._size) == 0:
            with open(self._texts, encoding="utf-8") as lines:
                names = [line.strip() for line in lines if line.strip()]
            session.run(self._put, {self._all_names: names})
        session.run(self._close)

    def reduce(self, session):
        if not session.run(self._has_total):
            session.run(self._total.initializer)

    def map(self, session):
        while not all(session.run([self._is_closed, self._has_total])):
            time.sleep(0.05)
        while True:
            try:
                path = session.run(self._take).decode()
            except tf.errors.OutOfRangeError:
                return
            with open(path, encoding="utf-8") as text:
                words = len(text.read().split())
            time.sleep(self._pause)
            while path == self._last and not os.path.exists(f"{path}.go"):
                time.sleep(0.05)
            session.run(self._add, {self._words: words})
            print(f"{words} words in {path}", flush=True)

    def watch(self, session):
        while True:
            closed, size, (lent, dead) = session.run([self._is_closed, self._size, self._lent])
            if closed and size == 0 and lent == 0:
                break
            time.sleep(0.05)
        print(f"total: {session.run(self._total)} words, {dead} dead letters", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", required=True, help="a file with the path of a text per line")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds that each text takes")
    parser.add_argument("--last", help="a text that is not counted before LAST.go is there")
    arguments = parser.parse_args()
    config = tf.contrib.learn.RunConfig()
    server = tf.train.Server(
        config.cluster_spec, job_name=config.task_type, task_index=config.task_id
    )
    program = Program(arguments.texts, arguments.pause, arguments.last)
    # Mappers come and go.
    owners = tf.ConfigProto(device_filters=["/job:files", "/job:reduce"])
    with tf.Session(server.target, config=owners) as session:
        getattr(program, config.task_type)(session)
    if config.task_type in ("files", "reduce"):
        server.join()


if __name__ == "__main__":
    main()

"""Counts the words of files on a cluster: one `files` task, one `reduce` task, any number of `map`s.

    millrace run --job files=1 --job reduce=1 --job map=2 --until map -- \
        python3 examples/word_count.py --texts LIST

LIST is a file with a path per line. `files` puts the paths into a queue, `map` tasks take them out,
count, and add to a variable that `reduce` owns; the last map task prints the total. Tasks may start in
any order. `files` and `reduce` only own things, so they run until they are stopped: `--until map` does
that when every map task is done.
"""

import argparse
import time

import millrace as tf


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--texts", default="filenames.txt", help="a file with the path of a text per line"
    )
    parser.add_argument(
        "--pause", type=float, default=0.0, help="seconds that a map task rests after each file"
    )
    parser.add_argument(
        "--uncaught-end",
        action="store_true",
        help="let the end of the queue end a map task with an error, as the shortest programs do",
    )
    return parser.parse_args()


class Shared:
    """What the tasks share: each builds the same nodes, and finds the same things by them."""

    def __init__(self):
        with tf.device("/job:files/task:0"):
            self.paths = tf.FIFOQueue(
                capacity=10, dtypes=[tf.string], shapes=[()], shared_name="paths"
            )
        with tf.device("/job:reduce/task:0"):
            self.total = tf.Variable(tf.constant(0, tf.int64), name="total")
            # Holds one element fewer than there are map tasks: who finds it empty is the last.
            self.others = tf.FIFOQueue(
                capacity=-1, dtypes=[tf.bool], shapes=[()], shared_name="others"
            )


def hand_out_paths(session, shared, list_of_texts):
    """The work of `files`: every path once, then the end of the queue."""
    path = tf.placeholder(tf.string, [])
    put = shared.paths.enqueue(path)
    with open(list_of_texts, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                session.run(put, {path: line.strip()})
    session.run(shared.paths.close())


def own_the_total(session, shared, num_maps):
    """The work of `reduce`: to have what the others change, and to show how far they are."""
    session.run(tf.global_variables_initializer())
    session.run(shared.others.enqueue_many([[True] * (num_maps - 1)]))
    session.run(shared.others.close())
    while True:
        print(f"{session.run(shared.total)} words so far", flush=True)
        time.sleep(2)


def wait_until_initialized(session, variable):
    """Returns when another task has initialized the variable."""
    while True:
        try:
            session.run(variable)
            return
        except tf.errors.FailedPreconditionError:
            time.sleep(0.05)


def count_words(session, shared, pause, uncaught_end):
    """The work of `map`: counts a file at a time until there are no more."""
    take = shared.paths.dequeue()
    count = tf.placeholder(tf.int64, [])
    add = tf.assign_add(shared.total, count, use_locking=True).op
    is_not_last = shared.others.dequeue()
    wait_until_initialized(session, shared.total)
    while True:
        try:
            path = session.run(take).decode()
        except tf.errors.OutOfRangeError:
            if uncaught_end:
                raise
            break
        with open(path, encoding="utf-8", errors="replace") as text:
            words = len(text.read().split())
        session.run(add, {count: words})
        print(f"{words} words in {path}", flush=True)
        time.sleep(pause)
    try:
        session.run(is_not_last)
    except tf.errors.OutOfRangeError:
        print(f"total: {session.run(shared.total)} words", flush=True)


def main():
    arguments = read_arguments()
    config = tf.contrib.learn.RunConfig()
    cluster = config.cluster_spec
    server = tf.train.Server(cluster, job_name=config.task_type, task_index=config.task_id)
    shared = Shared()
    # A map task must not wait for its siblings: one that came late would find the first ones gone.
    owners = tf.ConfigProto(device_filters=["/job:files", "/job:reduce"])
    session = tf.Session(server.target, config=owners)
    if config.task_type == "files":
        hand_out_paths(session, shared, arguments.texts)
        server.join()
    elif config.task_type == "reduce":
        own_the_total(session, shared, cluster.num_tasks("map"))
    elif config.task_type == "map":
        count_words(session, shared, arguments.pause, arguments.uncaught_end)
    else:
        raise SystemExit(f"word_count has no work for a task of job '{config.task_type}'")


if __name__ == "__main__":
    main()

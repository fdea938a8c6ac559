"""Counts every word of texts, and gives the counts to a task that reads them out of a queue.

    millrace run --job files=1 --job map=2 --job reduce=2 --job read=1 --until files,read --restart map=100 \
        --restart reduce=100 -- python3 examples/words_into_queue.py 'texts/*.txt' made

Each count is in the queue once, whichever of map and reduce are killed meanwhile. When all are in, the queue is
closed, and the folder `made` appears with what was counted beside.
"""

import sys

import millrace as tf
from millrace import mapreduce


def words(line):
    return [(word, 1) for word in line.split()]


def read(results, config):
    server = tf.train.Server(config.cluster_spec, config.task_type, config.task_id)
    taken, counts = results.queue().dequeue(), {}
    with tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:read"])) as session:
        try:
            while True:
                word, count = session.run(taken)
                counts[word.decode()] = int(count)
        except tf.errors.OutOfRangeError:
            pass  # that were all
    print(f"{len(counts)} words, {sum(counts.values())} in all")
    for word in sorted(counts, key=lambda word: (-counts[word], word))[:3]:
        print(f"{word} {counts[word]}")


def main():
    results = mapreduce.Queue(
        sys.argv[2], "counts", task="/job:read/task:0", dtypes=[tf.string, tf.int64]
    )
    config = tf.estimator.RunConfig()
    if config.task_type == "read":
        read(results, config)
    else:
        mapreduce.run(sys.argv[1], words, results, reduce=mapreduce.add, combine=mapreduce.add)


if __name__ == "__main__":
    main()

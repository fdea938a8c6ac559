"""A task queue: a client sends calls, workers run them, a broker keeps them in between.

    millrace run --job broker=1 --job worker=2 --job client=1 --until client -- \
        python3 examples/task_queue.py

Each task of the job runs this program. The broker only serves. Workers may be killed and started again at
any time: a call whose worker dies is run by another.
"""

import millrace as tf
from millrace import tasks

config = tf.contrib.learn.RunConfig()
(broker,) = config.cluster_spec.job_tasks("broker")
app = tasks.App(f"grpc://{broker}", device="/job:broker/task:0")


@app.task(name="count", retries=3, retry_on=OSError)
def count(text):
    """How often each word is there."""
    words = text.split()
    return {word: words.count(word) for word in words}


@app.task(name="merge")
def merge(counts):
    """The sums of all counts."""
    total = {}
    for each in counts:
        for word, times in each.items():
            total[word] = total.get(word, 0) + times
    return total


@app.task(name="most", priority=1)
def most(counts):
    """The word that is there most often."""
    return max(counts, key=counts.get)


def main():
    if config.task_type == "broker":
        tf.train.Server(config.cluster_spec, job_name="broker", task_index=0).join()
    if config.task_type == "worker":
        tasks.work(app)
        return
    print("count:", count.delay("the mill and the race").get(timeout=60))
    lines = ["the wheel turns the stone", "the stone grinds the corn", "corn is bread"]
    total = tasks.Chord([count.s(line) for line in lines], merge.s()).send()
    print("merged:", sorted(total.get(timeout=60).items()))
    print(
        "most:",
        tasks.Chain(merge.s([count(line) for line in lines]), most.s()).send().get(timeout=60),
    )
    try:
        count.delay(3).get(timeout=60)
    except tasks.TaskError as error:
        print("failed:", error.message)


if __name__ == "__main__":
    main()

"""session.run from Python: a scalar feed and a scalar fetch, in one process.

The baseline is what Python needs to look up a dictionary and call a C function with a float.
"""

import math
import time

from figures import report, rounds

import millrace as tf

ROUNDS, STEPS = 9, 20000


def microseconds_each(call):
    start = time.perf_counter()
    for _ in range(STEPS):
        call()
    return (time.perf_counter() - start) / STEPS * 1e6


def main():
    feed = tf.placeholder(tf.float32, [])
    fetch = feed * 2.0
    bare = {feed: 3.0}
    ours, baseline = [], []
    with tf.Session() as session:
        for is_counted in rounds(ROUNDS):
            step = microseconds_each(lambda: session.run(fetch, {feed: 3.0}))
            floor = microseconds_each(lambda: math.fabs(bare[feed]))
            if is_counted:
                ours.append(step)
                baseline.append(floor)
    report(
        "session.run from Python, scalar feed and fetch, in-process",
        "us",
        ours,
        goal=10,
        baseline_name="a dictionary look-up and a C function",
        baseline=baseline,
    )


if __name__ == "__main__":
    main()

"""The half of all_reduce_bench.py that is ours: one member. Reads lines "COUNT TIMES" and answers each with the
microseconds that one of so many sums of so many floats took; the end of its input ends it.

  all_reduce_of_millrace.py INDEX ADDRESS ADDRESS ...
"""

import sys
import time

import millrace as tf

index, addresses = int(sys.argv[1]), sys.argv[2:]
members = len(addresses)
server = tf.train.Server({"worker": addresses}, job_name="worker", task_index=index)
alone = tf.ConfigProto(device_filters=[f"/job:worker/task:{index}"])


def summed(count, key):
    """A callable that sums one tensor over all members, and the sum."""
    with tf.Graph().as_default(), tf.device(f"/job:worker/task:{index}"):
        mine = tf.Variable(tf.fill([count], float(index + 1)), name=f"mine{count}")
        total = tf.raw_ops.CollectiveReduce(
            input=mine,
            group_size=members,
            group_key=1,
            instance_key=key,
            merge_op="Add",
            final_op="Id",
            subdiv_offsets=[0],
        )
        session = tf.Session(server.target, config=alone)
        session.run(mine.initializer)
        return session, session.make_callable(total.op), total


known = {}
print("ready", flush=True)
for line in sys.stdin:
    count, times = map(int, line.split())
    if count not in known:
        known[count] = summed(count, len(known) + 1)
    session, run, total = known[count]
    if session.run(total)[-1] != members * (members + 1) / 2:
        sys.exit(f"the sum of {count} floats over {members} members is wrong")
    start = time.perf_counter()
    for _ in range(times):
        run()
    print(f"{(time.perf_counter() - start) / times * 1e6:.3f}", flush=True)

"""The half of all_reduce_bench.py that is ours: one member. Reads lines "COUNT TOGETHER TIMES" and answers each with the
microseconds that one sum of so many floats took in so many steps that make so many sums each, one after the other; the
end of its input ends it.

  all_reduce_of_millrace.py INDEX ADDRESS ADDRESS ...
"""

import sys
import time

import millrace as tf

index, addresses = int(sys.argv[1]), sys.argv[2:]
members = len(addresses)
server = tf.train.Server({"worker": addresses}, job_name="worker", task_index=index)
alone = tf.ConfigProto(device_filters=[f"/job:worker/task:{index}"])


def summed(count, together, first_key):
    """A callable that sums a tensor over all members, so many times, and the last sum."""
    with tf.Graph().as_default(), tf.device(f"/job:worker/task:{index}"):
        mine = tf.Variable(tf.fill([count], float(index + 1)), name=f"mine{count}")
        before = []
        for key in range(first_key, first_key + together):
            with tf.control_dependencies(before):
                total = tf.raw_ops.CollectiveReduce(
                    input=mine,
                    group_size=members,
                    group_key=1,
                    instance_key=key,
                    merge_op="Add",
                    final_op="Id",
                    subdiv_offsets=[0],
                )
            before = [total.op]
        session = tf.Session(server.target, config=alone)
        session.run(mine.initializer)
        return session, session.make_callable(total.op), total


known = {}
next_key = 1
print("ready", flush=True)
for line in sys.stdin:
    count, together, times = map(int, line.split())
    if (count, together) not in known:
        known[count, together] = summed(count, together, next_key)
        next_key += together
    session, run, total = known[count, together]
    if session.run(total)[-1] != members * (members + 1) / 2:
        sys.exit(f"the sum of {count} floats over {members} members is wrong")
    start = time.perf_counter()
    for _ in range(times):
        run()
    print(f"{(time.perf_counter() - start) / times / together * 1e6:.3f}", flush=True)

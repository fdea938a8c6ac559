"""B11: a queue on a task, strings of 64 bytes: one client, fifty, and hand-over between processes."""

import subprocess
import threading
import time

from measure import Figure, Limit, Seconds, microseconds, thousands_per_second
from native import Native

TITLE = "B11 remote queue"
ITEM = b"x" * 64
BATCH = 16


def tasks(scale):
    return 1


def clients(scale):
    return scale.pick(quick=[1, 4], normal=[1, 50])


def name_of(count, batch):
    text = f"{count} client{'s' if count > 1 else ''}"
    return f"{text}, {batch} at a time" if batch > 1 else text


class Together:
    """Seconds per call where threads make the calls at the same time, each its own."""

    gives_seconds = True

    def __init__(self, calls):
        self._calls = calls

    def __call__(self, seconds):
        counts, failures = [], []
        until = time.perf_counter() + seconds

        def client(call):
            count = 0
            try:
                while time.perf_counter() < until:
                    call()
                    count += 1
            except Exception as failure:
                failures.append(failure)
            counts.append(count)

        threads = [threading.Thread(target=client, args=[call]) for call in self._calls]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return (time.perf_counter() - start) / sum(counts)


def hand_over_queues(tf, cell):
    """There and back, by names that both processes know."""
    return [
        tf.FIFOQueue(10, tf.string, shapes=[[]], shared_name=f"{cell}_{way}", name=way)
        for way in ("there", "back")
    ]


def peer(tf, cluster):
    """The other process: what comes there goes back."""
    there, back = hand_over_queues(tf, cluster.cell)
    session = tf.Session(cluster.target("worker:0"))
    take = session.make_callable(there.dequeue())
    item = tf.placeholder(tf.string, [])
    give = session.make_callable(back.enqueue(item), [item])
    while True:
        give(take())


def round_trip(tf, cluster, session, item):
    there, back = hand_over_queues(tf, cluster.cell)
    give = session.make_callable(there.enqueue(item), [item])
    take = session.make_callable(back.dequeue())
    subprocess.Popen(cluster.peer_command("worker:0"), stdin=subprocess.PIPE)

    def call():
        give(ITEM)
        take()

    return call


def figures(tf, cluster, scale):
    queue = tf.FIFOQueue(100_000, tf.string, shapes=[[]])
    item, items = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [BATCH])
    put, take = queue.enqueue(item), queue.dequeue()
    put_many, take_many = queue.enqueue_many([items]), queue.dequeue_many(BATCH)
    sessions = [tf.Session(cluster.target("worker:0")) for _ in range(max(clients(scale)))]

    def pair(session, batch):
        if batch > 1:
            give, get = session.make_callable(put_many, [items]), session.make_callable(take_many)
            value = [ITEM] * batch
        else:
            give, get = session.make_callable(put, [item]), session.make_callable(take)
            value = ITEM

        def call():
            give(value)
            get()

        return call

    for count in clients(scale):
        for batch in (1, BATCH):
            calls = [pair(session, batch) for session in sessions[:count]]
            seconds = Together(calls) if count > 1 else Seconds(calls[0])
            seconds.gives_seconds = True
            yield Figure(name_of(count, batch), "k/s", thousands_per_second(2 * batch, seconds))
    there_and_back = microseconds(round_trip(tf, cluster, sessions[0], item))
    yield Figure("to a waiting process and back", "us", there_and_back)


def limits(scale):
    for count in clients(scale):
        calls = Native("calls", "--request", 160, "--clients", count)
        for batch in (1, BATCH):
            yield Limit(name_of(count, batch), "raw gRPC call", thousands_per_second(batch, calls))
    hand_over = Native("calls", "--request", 160, "--in-turn", 4)
    yield Limit("to a waiting process and back", "4 raw gRPC calls", microseconds(hand_over))

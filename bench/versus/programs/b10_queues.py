"""B10: queues in one process. A step holds hundreds of queue ops, so that the ops are what it costs."""

import numpy as np

from measure import Figure, Limit, thousands_per_second
from native import Native

TITLE = "B10 local queues"
PAIRS = 256  # enqueues and dequeues per step and chain
BATCH = 128
KIB, MIB = 1 << 10, 1 << 20


def tasks(scale):
    return 0


def fifo(tf, **options):
    return tf.FIFOQueue(100_000, tf.float32, **options)


def shuffle(tf, **options):
    return tf.RandomShuffleQueue(100_000, 0, tf.float32, **options)


def padding(tf, shapes, **options):
    return tf.PaddingFIFOQueue(100_000, tf.float32, shapes=[[None] * len(shapes[0])], **options)


def priority(tf, **options):
    return tf.PriorityQueue(100_000, tf.float32, **options)


def put(tf, queue, value):
    if isinstance(queue, tf.PriorityQueue):
        return queue.enqueue((tf.constant(1, tf.int64), value))
    return queue.enqueue(value)


def take(queue):
    taken = queue.dequeue()
    return (taken[0] if isinstance(taken, list) else taken).op


def in_turn(tf, makers):
    """The operations that the functions make, each after the one before."""
    last = None
    for make in makers:
        with tf.control_dependencies([last] if last is not None else []):
            last = make()
    return last


def pairs(tf, queues, value):
    """An enqueue and a dequeue in turn, PAIRS times, at each of the queues after another."""
    makers = []
    for index in range(PAIRS):
        queue = queues[index * len(queues) // PAIRS]
        makers.append(lambda q=queue: put(tf, q, value))
        makers.append(lambda q=queue: take(q))
    return in_turn(tf, makers)


def producers_and_consumers(tf, queue, value, count):
    chains = [in_turn(tf, [lambda: put(tf, queue, value)] * PAIRS) for _ in range(count)]
    chains += [in_turn(tf, [lambda: take(queue)] * PAIRS) for _ in range(count)]
    return tf.group(*chains)


def counts_of_queues(scale):
    return scale.pick(quick=[100], normal=[10, 10_000], full=[10, 10_000, 100_000])


def name_of(what, more=""):
    return f"{what}, enqueue and dequeue in turn{more}"


def figures(tf, cluster, scale):
    session = tf.Session()
    scalar = tf.constant(1.0)

    def figure(name, step, ops):
        return Figure(name, "k/s", thousands_per_second(ops, session.make_callable(step)))

    for make in (fifo, shuffle, padding, priority):
        queue = make(tf, shapes=[[]])
        yield figure(name_of(f"{make.__name__}, 4 B"), pairs(tf, [queue], scalar), 2 * PAIRS)
    for text, size in (("4 KiB", 4 * KIB), ("1 MiB", MIB)):
        value = tf.constant(np.ones(size // 4, np.float32))
        queue = fifo(tf, shapes=[[size // 4]])
        yield figure(name_of(f"fifo, {text}"), pairs(tf, [queue], value), 2 * PAIRS)
    for count in (1, 4):
        step = producers_and_consumers(tf, fifo(tf, shapes=[[]]), scalar, count)
        yield figure(f"fifo, 4 B, {count} to {count}", step, 2 * PAIRS * count)

    many = tf.constant(np.ones(BATCH, np.float32))
    queue = fifo(tf, shapes=[[]])
    batches = [lambda: queue.enqueue_many([many]), lambda: queue.dequeue_many(BATCH).op] * 16
    yield figure("fifo, elements, 128 at a time", in_turn(tf, batches), 32 * BATCH)

    for count in counts_of_queues(scale):
        with tf.Graph().as_default():
            queues = [fifo(tf, shapes=[[]], name=f"of_{count}_{i}") for i in range(count)]
            inside = tf.Session()
            inside.run([queue.queue_ref.op for queue in queues])
            spread = queues[:: max(1, count // PAIRS)][:PAIRS]
            step = inside.make_callable(pairs(tf, spread, tf.constant(1.0)))
            name = name_of("fifo, 4 B", f", among {count:,} queues")
            yield Figure(name, "k/s", thousands_per_second(2 * PAIRS, step))


def limits(scale):
    locked = thousands_per_second(2, Native("queue"))
    for kind in ("fifo", "shuffle", "padding", "priority"):
        yield Limit(name_of(f"{kind}, 4 B"), "locked deque", locked)

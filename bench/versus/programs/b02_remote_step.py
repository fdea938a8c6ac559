"""B2: a step on a task in another process: no more than an op, a feed, a fetch; 4 B and 4 MB."""

import numpy as np

from measure import Figure, Limit, gigabytes_per_second, microseconds
from native import Native

TITLE = "B2 remote step"
SCALAR, LARGE = 4, 4 << 20
REQUEST = 96  # bytes of a RunStep with a handle, a scalar feed and a fetch


def tasks(scale):
    return 1


def figures(tf, cluster, scale):
    session = tf.Session(cluster.target("worker:0"))
    nothing = tf.no_op()
    yield Figure("run an op", "us", microseconds(lambda: session.run(nothing)))
    yield Figure("run an op, callable", "us", microseconds(session.make_callable(nothing)))
    for size in (SCALAR, LARGE):
        text = "4 B" if size == SCALAR else "4 MB"
        shape = [] if size == SCALAR else [size // 4]
        fed = tf.placeholder(tf.float32, shape)
        used = tf.identity(fed).op
        held = tf.Variable(tf.zeros(shape), name=f"held_{size}")
        session.run(held.initializer)
        value = np.zeros(shape, np.float32)
        if size == SCALAR:
            unit, timed = "us", microseconds
        else:
            unit, timed = "GB/s", lambda call: gigabytes_per_second(LARGE, call)
        yield Figure(
            f"feed {text}", unit, timed(lambda u=used, f=fed, v=value: session.run(u, {f: v}))
        )
        yield Figure(f"fetch {text}", unit, timed(lambda h=held: session.run(h)))
        yield Figure(f"fetch {text}, callable", unit, timed(session.make_callable(held)))


def limits(scale):
    unary = microseconds(Native("calls", "--request", REQUEST))
    for name in (
        "run an op",
        "run an op, callable",
        "feed 4 B",
        "fetch 4 B",
        "fetch 4 B, callable",
    ):
        yield Limit(name, "raw gRPC call", unary)
    feed = Native("calls", "--request", LARGE)
    yield Limit("feed 4 MB", "raw gRPC", gigabytes_per_second(LARGE, feed))
    fetch = gigabytes_per_second(LARGE, Native("calls", "--reply", LARGE))
    for name in ("fetch 4 MB", "fetch 4 MB, callable"):
        yield Limit(name, "raw gRPC", fetch)

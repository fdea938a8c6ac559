"""B1: a step in one process. Feeds and fetches are scalars, each fetch an identity of its feed."""

import numpy as np

from measure import Figure, Limit, microseconds

TITLE = "B1 local step"
COUNTS = (1, 2, 5, 10)


def tasks(scale):
    return 0


def name_of(count, how):
    return (
        f"{count} scalar feed{'s' if count > 1 else ''} and fetch{'es' if count > 1 else ''}, {how}"
    )


def figures(tf, cluster, scale):
    nothing = tf.no_op()
    fed = [tf.placeholder(tf.float32, []) for _ in range(max(COUNTS))]
    fetched = [tf.identity(each) for each in fed]
    session = tf.Session()
    yield Figure("no-op, callable", "us", microseconds(session.make_callable(nothing)))
    yield Figure("no-op, run", "us", microseconds(lambda: session.run(nothing)))
    for count in COUNTS:
        feeds, fetches = fed[:count], fetched[:count]
        values = [np.float32(1)] * count
        feed_dict = dict(zip(feeds, values))
        step = session.make_callable(fetches, feeds)
        yield Figure(name_of(count, "callable"), "us", microseconds(lambda s=step, v=values: s(*v)))
        yield Figure(
            name_of(count, "run"),
            "us",
            microseconds(lambda f=fetches, d=feed_dict: session.run(f, d)),
        )


def limits(scale):
    for count in COUNTS:
        values = [1.0] * count
        sample = microseconds(lambda v=values: [np.float32(each) for each in v])
        for how in ("callable", "run"):
            yield Limit(name_of(count, how), "making the results in Python", sample)

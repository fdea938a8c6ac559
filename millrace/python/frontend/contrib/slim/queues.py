"""tf.contrib.slim.queues: threads that fill queues, for as long as a block lasts."""

import contextlib as _contextlib

from millrace._graph.collections import GraphKeys as _GraphKeys
from millrace._graph.default_graph import get_collection as _get_collection
from millrace._run.coordinator import Coordinator as _Coordinator

_GRACE_SECONDS = 120


@_contextlib.contextmanager
def QueueRunners(session):
    """A block with the threads of all QueueRunners of the graph, which end with it; yields them."""
    coordinator = _Coordinator()
    threads = [
        thread
        for runner in _get_collection(_GraphKeys.QUEUE_RUNNERS)
        for thread in runner.create_threads(session, coord=coordinator, daemon=True, start=True)
    ]
    try:
        yield threads
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=_GRACE_SECONDS)

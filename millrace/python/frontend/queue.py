"""tf.queue: the kinds of queues, and what they lend."""

from millrace._run.leases import Lease
from millrace._state.leased import LeasedDequeue
from millrace._state.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)

"""Elements that a queue lends, as a graph has them: what takes them, and what extends and ends their leases."""

from millrace import _gen as gen_ops
from millrace._graph.default_graph import colocate_with
from millrace._ops.arrays import constant, placeholder
from millrace._values import dtypes

LONGEST_LEASE = 1e7  # seconds


class LeasedDequeue:
    """What `queue.dequeue(lease=...)` gives. Fetched, it is a tf.queue.Lease: an element, for a time.

    Attributes:
      value: the element, as a dequeue without a lease gives it: a Tensor, a list or a dictionary.
      attempt: an int32 scalar Tensor: how often the element was lent, this time included.
      seconds: how long a lease lasts without a heartbeat.
      graph: the Graph that it is in.
      parts: the Tensors that a Lease is made of: the value's, the attempt, the lease's bytes.
      fed, held, under: the placeholder for a lease's bytes; the Tensors that tell whether the lease
        lasts, and that has a step made under it.
      ended, given_back: the Operations that end the lease that is fed.
    """

    def __init__(self, queue_ref, component_types, element, seconds, attempts, name):
        if isinstance(seconds, bool) or not 0 < seconds <= LONGEST_LEASE:
            raise ValueError(
                f"lease is {seconds!r}; it must be seconds, more than 0 and at most {LONGEST_LEASE:g}"
            )
        if attempts < 0:
            raise ValueError(f"attempts is {attempts}; give at least 1, or 0 for no limit")
        self.seconds = float(seconds)
        self.graph = queue_ref.graph
        with colocate_with(queue_ref):
            nothing = constant("", dtypes.string)
        lent = gen_ops.queue_lend(
            queue_ref, nothing, component_types, seconds=self.seconds, attempts=attempts, name=name
        )
        self.value = element(list(lent.components))
        self.attempt = lent.attempt
        self.parts = (self.value, lent.attempt, lent.lease)
        self.fed = placeholder(dtypes.string, [])
        self.held = gen_ops.queue_extend_lease(queue_ref, self.fed, seconds=self.seconds)
        self.under = gen_ops.step_lease(self.fed)
        self.ended = gen_ops.queue_end_lease(queue_ref, self.fed)
        self.given_back = gen_ops.queue_end_lease(queue_ref, self.fed, gives_back=True)

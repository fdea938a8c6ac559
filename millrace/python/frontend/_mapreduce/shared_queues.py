"""The tasks of a job and what each takes, and the queues between them, as each of them builds them."""

import functools
import json

from millrace._cluster.run_config import RunConfig
from millrace._graph.default_graph import device
from millrace._graph.graph import Graph
from millrace._mapreduce.queue_output import Filling, Queue, Results
from millrace._ops.arrays import placeholder
from millrace._run.config import ConfigProto
from millrace._run.server import Server
from millrace._run.session import Session
from millrace._state.queues import FIFOQueue
from millrace._values import dtypes

OWNER = "files"
KINDS = ("map", "reduce", "publish")
TAKES = {
    "map": ["map"],
    "reduce": ["reduce", "publish"],
    "worker": ["map", "reduce", "publish"],
}


@functools.cache
def served():
    """(RunConfig, Server): the task that this process is. Several jobs of a program share it."""
    config = RunConfig()
    server = Server(config.cluster_spec, config.task_type, config.task_id, start=False)
    # The owner's book is gone with it: queues of its last life would be of work that nobody knows.
    server.core.keep_what_asks()
    server.start()
    return config, server


def check_cluster(config, output):
    """ValueError for a cluster that can't make a job, or a task that has nothing to do in it."""
    jobs = config.cluster_spec.jobs
    if config.task_type != OWNER and config.task_type not in TAKES:
        raise ValueError(
            f"a task of job '{config.task_type}' has nothing to do in a MapReduce: the jobs are "
            f"'{OWNER}' (one task), 'map' and 'reduce', or 'worker' for both"
        )
    for kind in ("map", "reduce"):
        if not any(kind in TAKES.get(job, ()) for job in jobs):
            raise ValueError(
                f"nobody would {kind}: the cluster has the jobs {', '.join(sorted(jobs))}; it needs "
                f"tasks of '{kind}' or 'worker'"
            )
    if OWNER not in jobs or config.cluster_spec.num_tasks(OWNER) != 1:
        raise ValueError(f"the cluster needs exactly one task of job '{OWNER}'")
    if isinstance(output, Queue):
        _check_queue(config.cluster_spec, output)


def _check_queue(cluster, output):
    job, index = output.place
    if job is None:
        raise ValueError(f"{output}: on a cluster say `task`, one of it that reads, not `target`")
    if job == OWNER or job in TAKES:
        raise ValueError(f"{output} would end with the job: put it on the task that reads")
    if job not in cluster.jobs or index not in cluster.task_indices(job):
        raise ValueError(f"{output}: the cluster has no such task; its jobs are {cluster.jobs}")


class Shared:
    """The queues, as every task of a job builds them; all are on the owner.

    Args:
      name, lease, attempts: as for run().
      output: a Queue to have the queue of results beside; None for none.
    """

    def __init__(self, name, lease, attempts, output=None):
        self.name = name
        self.graph = Graph()
        self._filters = [f"/job:{OWNER}"]
        with self.graph.as_default(), device(f"/job:{OWNER}/task:0"):
            self.text = placeholder(dtypes.string, [])
            self.work = {
                kind: _Work(f"{name}/{kind}", self.text, lease, attempts) for kind in KINDS
            }
            reports = FIFOQueue(-1, [dtypes.string], [()], shared_name=f"{name}/reports")
            self.report = reports.enqueue(self.text)
            self.next_report = reports.dequeue()
            self.close_reports = reports.close()
            if output is not None:
                self._filling = Filling(output)
                self._filters.append("/job:{}/task:{}".format(*output.place))

    def session(self, target):
        """Needs the owner alone, and who has the queue of results: workers come and go."""
        return Session(target, self.graph, ConfigProto(device_filters=self._filters))

    def results(self, target):
        """The Results of a job whose output is a queue."""
        return Results(self._filling, lambda: self.session(target))


class _Work:
    """A queue of pieces of work, and what is done with it."""

    def __init__(self, name, text, lease, attempts):
        self._queue = FIFOQueue(-1, [dtypes.string], [()], shared_name=name)
        self.put = self._queue.enqueue(text)
        self.put_end = self._queue.enqueue(json.dumps({"over": True}))
        self.take = self._queue.dequeue(lease=lease, attempts=attempts)
        self.close = self._queue.close()
        self.cancel = self._queue.close(cancel_pending_enqueues=True)
        self.is_closed = self._queue.is_closed()
        _, self.num_dead = self._queue.lease_counts()
        self.dead = self._queue.dead_letter()
        self.size = self._queue.size()

"""ClusterSpec: the jobs of a cluster, their tasks, and where these listen."""

from millrace import _millrace


class ClusterSpec:
    """A cluster as jobs of tasks.

    Args:
      cluster: {job: [address, ...]}, {job: {task index: address}}, another ClusterSpec, or a
        cluster_def of one. An address is "host:port".

    Attributes:
      core: the C++ half.

    Raises:
      TypeError: for anything else; ValueError: for a job name or an address that cannot be one.
    """

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            self.core = cluster.core
        elif isinstance(cluster, _millrace.ClusterSpec):
            self.core = cluster
        elif isinstance(cluster, ClusterDef):
            self.core = _millrace.ClusterSpec(
                {
                    job.name: {int(index): where for index, where in job.tasks.items()}
                    for job in cluster.job
                }
            )
        elif isinstance(cluster, dict):
            self.core = _millrace.ClusterSpec(
                {str(job): _addresses(job, tasks) for job, tasks in cluster.items()}
            )
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                "addresses, or a `ClusterDef` protocol buffer"
            )

    def as_dict(self):
        """{job: [address, ...]}; {job: {index: address}} for jobs whose indices have gaps."""
        return {job: _as_listed(tasks) for job, tasks in self.core.jobs().items()}

    def as_cluster_def(self):
        """The cluster with the fields of TensorFlow's ClusterDef message."""
        return ClusterDef([JobDef(job, tasks) for job, tasks in self.core.jobs().items()])

    @property
    def jobs(self):
        """The names of the jobs."""
        return list(self.core.jobs())

    def num_tasks(self, job_name):
        """How many tasks a job has. ValueError if there is no such job."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name):
        return sorted(self._tasks(job_name))

    def task_address(self, job_name, task_index):
        """Where a task listens. ValueError if there is no such task."""
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name):
        """The addresses of a job by index, with None in gaps."""
        tasks = self._tasks(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job_name):
        jobs = self.core.jobs()
        if job_name not in jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}; there are {sorted(jobs)}")
        return jobs[job_name]

    def __bool__(self):
        return bool(self.core.jobs())

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self.core == other.core

    __hash__ = None

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()!r})"


def _addresses(job, tasks):
    """{index: address} from a list or a dictionary; spaces around addresses, as after the commas that a program
    split a flag at, are left out."""
    if isinstance(tasks, dict):
        return {int(index): str(address).strip() for index, address in tasks.items()}
    if isinstance(tasks, str):
        raise TypeError(f"The tasks of job {job!r} must be a list or a dictionary, not {tasks!r}")
    return {index: str(address).strip() for index, address in enumerate(tasks)}


def _as_listed(tasks):
    if sorted(tasks) == list(range(len(tasks))):
        return [tasks[index] for index in range(len(tasks))]
    return dict(tasks)


class JobDef:
    """A job: name, tasks {index: address}."""

    def __init__(self, name="", tasks=None):
        self.name = name
        self.tasks = dict(tasks or {})


class ClusterDef:
    """A cluster: job, a list of JobDefs."""

    def __init__(self, job=None):
        self.job = list(job or [])


class ServerDef:
    """A task of a cluster: cluster, job_name, task_index, protocol, default_session_config."""

    def __init__(
        self, cluster=None, job_name="", task_index=0, protocol="grpc", default_session_config=None
    ):
        self.cluster = cluster
        self.job_name = job_name
        self.task_index = task_index
        self.protocol = protocol
        self.default_session_config = default_session_config

"""Server: this process as a task of a cluster."""

import os
import signal
import threading

from millrace import _millrace
from millrace._cluster.cluster_spec import ClusterDef, ClusterSpec, ServerDef
from millrace._run import last_words, targets
from millrace._run.config import session_options


class Server:
    """A task of a cluster, serving at its address until it is stopped or the process ends.

    Args:
      server_or_cluster_def: a ClusterSpec, a dictionary, a ClusterDef, or a ServerDef.
      job_name: the job of this task. Without it: the cluster's only job, or what TF_CONFIG says.
      task_index: which task of the job; likewise.
      protocol: "grpc".
      config: a tf.ConfigProto: defaults for sessions on this server.
      start: False to bind nothing until `start` is called.
      state: a folder of this machine where variables and shared queues are kept, so that the next life
        of the task has them. None: what MILLRACE_STATE says.
      witness: the task that says who owns a state that two tasks have, "/job:chief/task:0"; all tasks name
        the same one, and that one itself. It needs a `state`; any other task that has one may be followed
        by a second. None: what MILLRACE_WITNESS says.
      stands_by_for: the task, named likewise, whose state this one is to have, too, and to take over when
        that one is gone. Needs a `witness` and a `state`. None: what MILLRACE_STANDBYS says of the job.
      at: "host:port" where a task that stands by is to be reached. None: where this task of the cluster
        is; it must be another one than the one that it stands by for, then.

    Attributes:
      core: the C++ half.

    Raises:
      ValueError: if it is not clear which task this is, or the cluster has no such task.
      tf.errors.OpError: if the address cannot be bound; the message says by whom it is used.
    """

    def __init__(
        self,
        server_or_cluster_def,
        job_name=None,
        task_index=None,
        protocol=None,
        config=None,
        start=True,
        *,
        state=None,
        witness=None,
        stands_by_for=None,
        at=None,
    ):
        standby = _standby(state, witness, stands_by_for, at)
        if at is not None and job_name is None:
            # It is the one that it stands by for.
            job_name, task_index = _millrace.parse_task(stands_by_for)
        definition = _definition(server_or_cluster_def, job_name, task_index, protocol, config)
        self._definition = definition
        self._target = None
        self.core = _millrace.ServedTask(
            _millrace.ops,
            ClusterSpec(definition.cluster).core,
            definition.job_name,
            definition.task_index,
            session_options(definition.default_session_config),
            last_words.report,
            standby,
        )
        if start:
            self.start()

    def start(self):
        """Binds the address and serves."""
        if self._target is None:
            self.core.start()
            # What a launcher hands over is taken now: programs that this one starts must not look for it.
            for name in _millrace.socket_variables:
                os.environ.pop(name, None)
            self._target = self.core.target
            targets.add_server(self._target, self)
            _tell_on_signal()

    @property
    def target(self):
        """What to make sessions on: "grpc://host:port"."""
        if self._target is None:
            raise ValueError("The server has no target before start() is called.")
        return self._target

    @property
    def server_def(self):
        """What it was made from, as a ServerDef."""
        return self._definition

    def join(self):
        """Waits until the server stops, which is when the process ends.

        Signals work as ever: Ctrl-C raises KeyboardInterrupt, SIGTERM ends the process.
        """
        # In slices: Python looks after signals between them.
        while not self.core.wait(0.2):
            pass

    def stop(self):
        """Stops serving; sessions on it fail from then on."""
        if self._target is not None:
            targets.remove_server(self._target)
        self.core.stop()

    @staticmethod
    def create_local_server(config=None, start=True):
        """A server for this process alone, on a free port of this machine."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _tell_on_signal():
    """Has SIGUSR1 put into the log what the servers of this process wait for.

    A program that has a use of its own for the signal keeps it.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
        signal.signal(signal.SIGUSR1, _tell)


def _tell(number, frame):
    for target in targets.running_servers():
        targets.running_server(target).core.log_waits()


def _standby(state, witness, stands_by_for, at):
    """What was said of a state that two tasks have."""
    if at is not None and stands_by_for is None:
        raise ValueError("`at` is where a task stands by; say for whom in `stands_by_for`")
    said = {"state": state, "witness": witness, "stands_by_for": stands_by_for, "at": at}
    for name, value in said.items():
        if value is not None and not (isinstance(value, (str, os.PathLike)) and os.fspath(value)):
            raise TypeError(f"`{name}` is to be text, got {value!r}")
    return {name: os.fspath(value) for name, value in said.items() if value is not None}


def _definition(given, job_name, task_index, protocol, config):
    """The ServerDef of what Server was given."""
    if isinstance(given, ServerDef):
        cluster = ClusterSpec(given.cluster)
        job_name = given.job_name if job_name is None else job_name
        task_index = given.task_index if task_index is None else task_index
        protocol = protocol or given.protocol
        config = config or given.default_session_config
    elif isinstance(given, (ClusterSpec, ClusterDef, dict)):
        cluster = ClusterSpec(given)
    else:
        raise TypeError(
            "`server_or_cluster_def` must be a tf.train.ServerDef, tf.train.ClusterDef, "
            f"tf.train.ClusterSpec or a dictionary, got {type(given).__name__}"
        )
    protocol = protocol or "grpc"
    if protocol != "grpc":
        raise ValueError(f"protocol '{protocol}' is not known; there is 'grpc'")
    job_name, task_index = _identity(cluster, job_name, task_index)
    return ServerDef(cluster.as_cluster_def(), job_name, task_index, protocol, config)


def _identity(cluster, job_name, task_index):
    """Which task this is: what the program says, else what is the only choice, else TF_CONFIG."""
    if not cluster:
        raise ValueError(
            "the cluster is empty: give Server the jobs and their addresses, or set TF_CONFIG before "
            "tf.contrib.learn.RunConfig() reads it"
        )
    if job_name is not None:
        cluster.task_indices(job_name)
    job_name, task_index = _millrace.which_task(
        cluster.core, job_name, task_index, os.environ.get("TF_CONFIG")
    )
    cluster.task_address(job_name, task_index)
    return job_name, task_index

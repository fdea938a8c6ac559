"""replica_device_setter: variables to the parameter servers, everything else to the worker."""

from millrace._cluster.cluster_spec import ClusterSpec
from millrace._values.device_spec import DeviceSpec, merged_device

STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "VarHandleOp",
)


class _RoundRobin:
    """Deals out task indices in turn."""

    def __init__(self, num_tasks):
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op):
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


class _ReplicaDevice:
    """The device function: asked for each node that is made."""

    def __init__(self, ps_device, worker_device, merge_devices, ps_ops, strategy):
        self._ps = DeviceSpec.from_string(ps_device or "")
        self._worker = DeviceSpec.from_string(worker_device or "")
        self._merge_devices = merge_devices
        self._ps_ops = ps_ops
        self._strategy = strategy

    def __call__(self, op):
        if not self._merge_devices and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device)
        if self._ps.job and op.type in self._ps_ops:
            chosen = DeviceSpec.from_string(self._ps.to_string())
            if current.job in (None, self._ps.job) and current.task is None:
                chosen.task = self._strategy(op)
            return merged_device(chosen, current).to_string()
        return merged_device(self._worker, current).to_string()


def replica_device_setter(
    ps_tasks=0,
    ps_device="/job:ps",
    worker_device="/job:worker",
    merge_devices=True,
    cluster=None,
    ps_ops=None,
    ps_strategy=None,
):
    """A function for tf.device that spreads variables over the tasks of a job, in turn.

    Args:
      ps_tasks: how many tasks the job of `ps_device` has; taken from `cluster` if that is given.
      ps_device: where variables go.
      worker_device: where everything else goes.
      merge_devices: True to combine with devices that are named further inside, which win.
      cluster: a ClusterSpec.
      ps_ops: the op types that count as variables.
      ps_strategy: a function from Operation to task index; in turn if None.

    Returns:
      the function; None if there are no such tasks.

    Raises:
      TypeError: if ps_strategy cannot be called.
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        job = DeviceSpec.from_string(ps_device).job
        ps_tasks = len(jobs.get(job, ()))
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = _RoundRobin(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _ReplicaDevice(
        ps_device, worker_device, merge_devices, ps_ops or STANDARD_PS_OPS, ps_strategy
    )

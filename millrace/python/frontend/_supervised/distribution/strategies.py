"""The strategies that programs name: on one device, on several of a task, and in many tasks."""

import enum
import zlib

from millrace._cluster.device_setter import replica_device_setter
from millrace._cluster.resolvers import TFConfigClusterResolver
from millrace._run.config import ConfigProto
from millrace._supervised.distribution.cross_device import CrossDeviceOps
from millrace._supervised.distribution.places import OnDevices, OnParameterServers
from millrace._supervised.distribution.extended import StrategyExtended
from millrace._supervised.distribution.strategy import Strategy
from millrace._supervised.replica_group import ReplicaGroup
from millrace._values.device_spec import DeviceSpec

_CHIEFS = ("chief", "master")


class CollectiveCommunication(enum.Enum):
    """How tasks' values go round: as their size suggests, around a ring, or as NCCL would, which is not here."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"

    @property
    def hint(self):
        """The communication_hint of collectives. NotImplementedError for NCCL."""
        if self is CollectiveCommunication.NCCL:
            raise NotImplementedError(
                "CollectiveCommunication.NCCL: there are CPU devices alone here; AUTO and RING are there"
            )
        return self.value.lower()


class OneDeviceStrategy(Strategy):
    """One replica, whose variables and nodes are on one device.

    Args:
      device: its name, such as "/cpu:0".
    """

    def __init__(self, device):
        named = _cpu_devices([device])
        super().__init__(StrategyExtended(named, OnParameterServers(named, named[0])))


class MirroredStrategy(Strategy):
    """A replica on each of several CPU devices of one task, in step, each with a copy of all variables.

    Args:
      devices: names of devices, such as ["/cpu:0", "/cpu:1"]; the first CPU alone if None. A session has several
        with tf.ConfigProto(device_count={"CPU": 2}).
      cross_device_ops: a CrossDeviceOps; ReductionToOneDevice if None.

    Raises:
      ValueError: for no devices, one named twice, or one that is no CPU; TypeError: for other cross_device_ops.
    """

    def __init__(self, devices=None, cross_device_ops=None):
        named = _cpu_devices(devices)
        _check_cross_device_ops(cross_device_ops)
        super().__init__(StrategyExtended(named, OnDevices(named), cross_device_ops))


class CentralStorageStrategy(Strategy):
    """A replica on each of several CPU devices of one task, in step, which share one copy of all variables.

    Args:
      compute_devices: names of the replicas' devices; the first CPU alone if None.
      parameter_device: where variables are; the first CPU if None.

    Raises:
      ValueError: as MirroredStrategy.
    """

    def __init__(self, compute_devices=None, parameter_device=None):
        places = OnDevices(_cpu_devices(parameter_device and [parameter_device]))
        super().__init__(StrategyExtended(_cpu_devices(compute_devices), places))


class MultiWorkerMirroredStrategy(Strategy):
    """Replicas in many tasks, in step, each with a copy of all variables; they meet in collectives.

    Each task runs the same program with a session on its own server. A step waits for the others', and ends with an
    error if one is lost; variables begin with the chief's values, so all tasks initialize them, in one step each: a
    task that was lost can't begin anew by itself unless an Estimator trains. All make as many steps: who goes on when
    another task has ended gets a FailedPreconditionError. What is ON_READ is each task's own, and a checkpoint has the chief's.

    Args:
      communication: of CollectiveCommunication.
      cluster_resolver: a ClusterResolver that knows this task; TF_CONFIG if None. Without a cluster there is this
        task alone.

    Raises:
      RuntimeError: when its scope is entered in a task that does not train, such as an evaluator.
    """

    def __init__(self, communication=CollectiveCommunication.AUTO, cluster_resolver=None):
        task = _Task(cluster_resolver)
        workers = task.workers(_CHIEFS)
        devices = [f"{task.name}/device:CPU:0"] if workers else ["/device:CPU:0"]
        rank = task.rank_in(workers)
        group = ReplicaGroup(
            max(len(workers), 1),
            zlib.crc32(b"MultiWorkerMirroredStrategy") >> 1,
            communication_hint=CollectiveCommunication(communication).hint,
        )
        if group.size == 1:
            extended = StrategyExtended(devices, OnDevices(devices))
        else:

            def first_value(value, shape, dtype):
                return group.from_chief(value, shape, dtype, rank == 0)

            places = OnDevices(devices, first_value)
            extended = StrategyExtended(
                devices, places, replica_group=group, worker=rank, num_workers=len(workers)
            )
        super().__init__(extended, task.idle_among(workers))
        self.cluster_resolver = task.resolver

    def update_config_proto(self, config_proto):
        """A copy of a ConfigProto without device filters: a collective has to do with all tasks."""
        made = ConfigProto()
        made.CopyFrom(config_proto)
        del made.device_filters[:]
        return made


class ParameterServerStrategy(Strategy):
    """A replica in each of many tasks, each in its own time, which share variables on parameter servers.

    Args:
      cluster_resolver: a ClusterResolver that knows this task; TF_CONFIG if None. Without a cluster variables are
        on this task's first CPU.

    Raises:
      ValueError: for a cluster without ps tasks;
      RuntimeError: when its scope is entered in a task that does not train, such as a ps.
    """

    def __init__(self, cluster_resolver=None):
        task = _Task(cluster_resolver)
        workers = task.workers(_CHIEFS)
        self.cluster_resolver = task.resolver
        if not workers:
            local = _cpu_devices(None)
            super().__init__(StrategyExtended(local, OnParameterServers(local, local[0])))
            return
        servers = task.spec.num_tasks("ps") if "ps" in task.spec.jobs else 0
        if not servers:
            raise ValueError(
                f"ParameterServerStrategy: the cluster has no ps tasks: {task.spec.as_dict()}"
            )
        setter = replica_device_setter(ps_tasks=servers, worker_device=task.name, cluster=task.spec)
        places = OnParameterServers(
            [f"/job:ps/task:{index}/device:CPU:0" for index in range(servers)], setter
        )
        super().__init__(
            StrategyExtended(
                [f"{task.name}/device:CPU:0"],
                places,
                worker=task.rank_in(workers),
                num_workers=len(workers),
            ),
            task.idle_among(workers),
        )


class TPUStrategy:
    """There are no TPUs here: a program that makes one is told so.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, *unused, **others):
        raise NotImplementedError(
            "TPUStrategy: there are CPU devices alone here; MirroredStrategy has a replica on each of several"
        )


class _Task:
    """What a resolver says of this task.

    Attributes:
      spec: the ClusterSpec, which may be empty; job, index: this task's; name: as a device, "/job:worker/task:0".
    """

    def __init__(self, resolver):
        self.resolver = resolver or TFConfigClusterResolver()
        self.spec = self.resolver.cluster_spec()
        self.job, self.index = self.resolver.task_type, self.resolver.task_id or 0
        self.name = f"/job:{self.job}/task:{self.index}"

    def workers(self, chiefs):
        """[(job, index)] of all tasks that train, the chief first; [] without a cluster."""
        if not self.spec:
            return []
        jobs = [job for job in (*chiefs, "worker") if job in self.spec.jobs]
        return [(job, index) for job in jobs for index in self.spec.task_indices(job)]

    def rank_in(self, workers):
        """This task's number among those that train; 0 if it is none of them."""
        return workers.index((self.job, self.index)) if (self.job, self.index) in workers else 0

    def idle_among(self, workers):
        """Why this task can't build replicas; None if it can."""
        if not workers or (self.job, self.index) in workers:
            return None
        return (
            f"this task, {self.job}:{self.index}, is none of those that train: {workers}. Tell which it is "
            "in TF_CONFIG, or to the cluster_resolver"
        )


def _cpu_devices(devices):
    """The names in full: one per replica."""
    if isinstance(devices, str):
        raise ValueError(f"devices must be a list of names, but is {devices!r}")
    named = ["/device:CPU:0"] if devices is None else [_cpu_device(each) for each in devices]
    if not named:
        raise ValueError("Must specify at least one device.")
    if len(set(named)) < len(named):
        raise ValueError(f"devices must be different from each other, but are {named}")
    return named


def _cpu_device(name):
    text = str(name)
    spec = DeviceSpec.from_string(text if text.startswith("/") else f"/{text}")
    if (spec.device_type or "CPU").upper() != "CPU":
        raise ValueError(f"{text!r}: there are CPU devices alone here")
    where = DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task).to_string()
    return f"{where}/device:CPU:{spec.device_index or 0}"


def _check_cross_device_ops(given):
    if given is not None and not isinstance(given, CrossDeviceOps):
        raise TypeError(f"cross_device_ops must be a CrossDeviceOps, but is {given!r}")

"""Cluster resolvers: objects that tell a program which cluster it is in, and where to connect to."""

import os

from millrace._cluster.cluster_spec import ClusterSpec
from millrace._cluster.run_config import RunConfig


def _target(address, rpc_layer):
    return f"{rpc_layer}://{address}" if address and rpc_layer else address


class ClusterResolver:
    """What all of them answer; for classes that derive from it.

    Attributes:
      task_type, task_id: which task this is, or None.
      environment: "" or what the cluster says of itself.
    """

    task_type = None
    task_id = None
    environment = ""

    def cluster_spec(self):
        """The ClusterSpec, asked anew."""
        raise NotImplementedError(f"cluster_spec is not implemented for {self}.")

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The target for a tf.Session: of the task that is named, or else of one that the resolver chooses."""
        raise NotImplementedError(f"master is not implemented for {self}.")

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        """{kind: how many} of devices other than CPUs: none."""
        return {}


class SimpleClusterResolver(ClusterResolver):
    """Says what it was told.

    Args:
      cluster_spec: a tf.train.ClusterSpec.
      master: the target.
      task_type, task_id, environment: kept.
      num_accelerators: {kind: how many}.
      rpc_layer: what targets begin with, such as "grpc".

    Raises:
      TypeError: for another cluster_spec.
    """

    def __init__(
        self,
        cluster_spec,
        master="",
        task_type=None,
        task_id=None,
        environment="",
        num_accelerators=None,
        rpc_layer=None,
    ):
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._spec = cluster_spec
        self._master = master
        self._accelerators = num_accelerators or {}
        self.task_type, self.task_id = task_type, task_id
        self.environment = environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self):
        return self._spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        layer = rpc_layer or self.rpc_layer
        if task_type is not None and task_id is not None:
            return _target(self._spec.task_address(task_type, task_id), layer)
        return _target(self._master, layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return dict(self._accelerators)


class UnionResolver(ClusterResolver):
    """Several resolvers as one: jobs of one name are joined, and the first of them answers for the rest.

    Args:
      cluster_resolvers: ClusterResolvers.
      task_type, task_id, rpc_layer: instead of the first one's.

    Raises:
      ValueError: for none; TypeError: for what is no ClusterResolver.
    """

    def __init__(self, *cluster_resolvers, task_type=None, task_id=None, rpc_layer=None):
        if not cluster_resolvers:
            raise ValueError("At least one ClusterResolver must be specified.")
        for resolver in cluster_resolvers:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        first = cluster_resolvers[0]
        self._resolvers = cluster_resolvers
        self.task_type = task_type or first.task_type
        self.task_id = first.task_id if task_id is None else task_id
        self.rpc_layer = rpc_layer or getattr(first, "rpc_layer", None)
        self.environment = first.environment

    def cluster_spec(self):
        """The union. KeyError if two have another address for one task."""
        specs = [resolver.cluster_spec() for resolver in self._resolvers]
        jobs = {job for spec in specs for job in spec.jobs}
        return ClusterSpec({job: _joined(job, specs) for job in sorted(jobs)})

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return _target(address, rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _joined(job, specs):
    """A job's tasks: lists one after the other, or a dictionary if one of the specs leaves tasks out."""
    parts = [spec.as_dict()[job] for spec in specs if job in spec.jobs]
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    joined = {}
    for part in parts:
        for task, address in part.items() if isinstance(part, dict) else enumerate(part):
            if joined.setdefault(task, address) != address:
                raise KeyError(
                    f"Duplicate keys detected when merging two ClusterSpecs: {job}:{task}"
                )
    return joined


class TFConfigClusterResolver(ClusterResolver):
    """Says what TF_CONFIG says.

    Args:
      task_type, task_id, rpc_layer, environment: instead of what that says; rpc_layer is "grpc" otherwise.

    Raises:
      ValueError: when it is asked, for a TF_CONFIG that makes no sense.
    """

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        self._told = (task_type, task_id, environment)
        self.rpc_layer = rpc_layer or "grpc"
        self._read = None  # a TF_CONFIG, and what it says

    def _config(self):
        text = os.environ.get("TF_CONFIG")
        if self._read is None or self._read[0] != text:
            self._read = text, RunConfig()
        return self._read[1]

    @property
    def task_type(self):
        return self._told[0] or self._config().task_type

    @property
    def task_id(self):
        return self._config().task_id if self._told[1] is None else self._told[1]

    @property
    def environment(self):
        return self._told[2] or (self._config().environment if os.environ.get("TF_CONFIG") else "")

    def cluster_spec(self):
        return self._config().cluster_spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        spec = self.cluster_spec()
        if not spec.jobs or (len(spec.jobs) == 1 and spec.num_tasks(spec.jobs[0]) == 1):
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return _target(spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)


class TPUClusterResolver(ClusterResolver):
    """There are no TPUs here: a program that makes one is told so.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, tpu=None, *unused, **others):
        raise NotImplementedError(
            f"TPUClusterResolver: there are CPU devices alone here, and no TPU {tpu!r}"
        )

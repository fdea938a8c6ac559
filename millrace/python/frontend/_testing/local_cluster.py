"""tf.test.create_local_cluster: the servers of a small cluster in this process."""

import contextlib
import os
import socket

from millrace import _millrace
from millrace._cluster.cluster_spec import ClusterSpec
from millrace._run.server import Server


def create_local_cluster(num_workers, num_ps, protocol="grpc", worker_config=None, ps_config=None):
    """Servers of jobs "worker" and "ps", which listen on free ports of this machine.

    Args:
      num_workers, num_ps: how many tasks each job has.
      protocol: "grpc".
      worker_config, ps_config: a tf.ConfigProto for each job's servers, or None.

    Returns:
      (the servers of the workers, those of the parameter servers), lists; task 0 first.

    Raises:
      ValueError: if there are no tasks.
    """
    if num_workers + num_ps < 1:
        raise ValueError("create_local_cluster needs at least one task")
    counts = {"worker": num_workers, "ps": num_ps}
    configs = {"worker": worker_config, "ps": ps_config}
    with contextlib.ExitStack() as held:
        # All ports are bound before the first server starts: it must know those of all others.
        sockets = {
            job: [held.enter_context(_bound()) for _ in range(count)]
            for job, count in counts.items()
            if count
        }
        addresses = {job: [_address(each) for each in bound] for job, bound in sockets.items()}
        cluster, servers = ClusterSpec(addresses), {"worker": [], "ps": []}
        for job, bound in sockets.items():
            for task, listening in enumerate(bound):
                server = Server(cluster, job, task, protocol, configs[job], start=False)
                _start(server, listening, addresses[job][task])
                servers[job].append(server)
    return servers["worker"], servers["ps"]


def _bound():
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    return made


def _address(bound):
    return f"127.0.0.1:{bound.getsockname()[1]}"


def _start(server, bound, address):
    """Starts a server on a bound socket, handed over as a launcher would to a process of its own."""
    descriptor, address_variable = _millrace.socket_variables
    before = {name: os.environ.get(name) for name in (descriptor, address_variable)}
    os.environ.update({descriptor: str(os.dup(bound.fileno())), address_variable: address})
    try:
        server.start()
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

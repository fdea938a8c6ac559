"""Cluster resolvers that ask a cluster's manager: Slurm by its variables, Kubernetes by its pods."""

import itertools
import json
import os
import re
import subprocess

from millrace._cluster.cluster_spec import ClusterSpec
from millrace._cluster.resolvers import ClusterResolver

_SECONDS = 60  # for one answer of kubectl
_MOST_HOSTS = 1 << 20  # of a node list: more is a mistake, and would fill the memory


class _ManagedResolver(ClusterResolver):
    """What both have: a task that the program or the manager names, and targets on its address."""

    def __init__(self, rpc_layer):
        self.rpc_layer = rpc_layer

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        address = self.cluster_spec().task_address(task_type, task_id)
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address


class SlurmClusterResolver(_ManagedResolver):
    """The tasks of a Slurm job step, by the variables that Slurm sets in each of them.

    Args:
      jobs: {job: how many tasks}, in the order in which Slurm numbers them; all are workers if None.
      port_base: the port of the first task of a node; each further one has the next.
      gpus_per_node, gpus_per_task: must be None or 0: there are CPU devices alone here.
      tasks_per_node: how many tasks each node runs, or {node: how many}; what Slurm says if None.
      auto_set_gpu: accepted; there is none to set.
      rpc_layer: what targets begin with.

    Attributes:
      task_type, task_id: this task's, by SLURM_PROCID.

    Raises:
      RuntimeError: if Slurm's variables are not there or can't be read, or jobs and tasks differ in number;
      ValueError: for GPUs.
    """

    def __init__(
        self,
        jobs=None,
        port_base=8888,
        gpus_per_node=None,
        gpus_per_task=None,
        tasks_per_node=None,
        auto_set_gpu=True,
        rpc_layer="grpc",
    ):
        super().__init__(rpc_layer)
        if gpus_per_node or gpus_per_task:
            raise ValueError("SlurmClusterResolver: there are CPU devices alone here, and no GPUs")
        counts = _tasks_of_nodes(tasks_per_node)
        total = sum(counts.values())
        jobs = {"worker": total} if jobs is None else dict(jobs)
        if sum(jobs.values()) != total:
            raise RuntimeError(
                f"Requested {sum(jobs.values())} tasks {jobs} but {total} were assigned: {counts}"
            )
        addresses = iter(
            [
                f"{node}:{port_base + place}"
                for node, count in counts.items()
                for place in range(count)
            ]
        )
        tasks = {job: list(itertools.islice(addresses, count)) for job, count in jobs.items()}
        self._spec = ClusterSpec(tasks)
        named = [(job, index) for job, count in jobs.items() for index in range(count)]
        rank = _slurm_number("PROCID")
        if not 0 <= rank < total:
            raise RuntimeError(f"SLURM_PROCID is {rank}, and there are {total} tasks: {counts}")
        self.task_type, self.task_id = named[rank]

    def cluster_spec(self):
        """The ClusterSpec of the step."""
        return self._spec

    def get_task_info(self):
        """(task_type, task_id) of this task."""
        return self.task_type, self.task_id


def _slurm_variable(name):
    for whole in (f"SLURM_{name}", f"SLURM_{name.replace('STEP_', '')}"):
        if whole in os.environ:
            return os.environ[whole]
    raise RuntimeError(
        f"SLURM_{name} is not in the environment: this is no task of a Slurm job step (srun)"
    )


def _slurm_number(name):
    text = _slurm_variable(name)
    try:
        return int(text)
    except ValueError:
        raise RuntimeError(f"SLURM_{name} is {text!r}, which is no number") from None


def _tasks_of_nodes(given):
    """{node: how many tasks it runs}, in Slurm's order."""
    if isinstance(given, dict):
        return dict(given)
    nodes = expanded_nodes(_slurm_variable("STEP_NODELIST"))
    if given is not None:
        return {node: int(given) for node in nodes}
    counts = expanded_counts(_slurm_variable("STEP_TASKS_PER_NODE"))
    if len(counts) != len(nodes):
        raise RuntimeError(
            f"Slurm names {len(nodes)} nodes {nodes} and numbers of tasks for {len(counts)}: {counts}"
        )
    return dict(zip(nodes, counts))


def expanded_nodes(text):
    """The names that a node list of Slurm stands for: "n[01-03,7],m" is n01, n02, n03, n7 and m.

    Raises:
      RuntimeError: for text that is no such list.
    """
    parts = re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text)
    if ",".join(parts) != text or not parts:
        raise RuntimeError(f"{text!r} is no list of nodes as Slurm writes them")
    return [name for part in parts for name in _expanded(part, text)]


def _expanded(part, whole):
    pieces = re.split(r"\[([^\[\]]*)\]", part)
    choices = [
        [piece] if place % 2 == 0 else _numbers(piece, whole) for place, piece in enumerate(pieces)
    ]
    count = 1
    for each in choices:
        count *= len(each)
    if count > _MOST_HOSTS:
        raise RuntimeError(f"{whole!r} stands for more than {_MOST_HOSTS} nodes")
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def _numbers(text, whole):
    """The numbers of "01-03,7", with their leading zeros."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if match is None:
            raise RuntimeError(f"{part!r} in {whole!r} is no range of nodes")
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) >= _MOST_HOSTS:
            raise RuntimeError(f"{whole!r} stands for more than {_MOST_HOSTS} nodes")
        found += [str(each).zfill(len(first)) for each in range(int(first), int(last) + 1)]
    return found


def expanded_counts(text):
    """The numbers that Slurm writes as "3(x2),1": 3, 3 and 1. RuntimeError for other text."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:\(x(\d{1,7})\))?", part)
        if match is None or int(match[2] or 1) > _MOST_HOSTS:
            raise RuntimeError(f"{part!r} in {text!r} is no number of tasks as Slurm writes them")
        found += [int(match[1])] * int(match[2] or 1)
    return found


class KubernetesClusterResolver(_ManagedResolver):
    """The running pods that labels select, each a task.

    Args:
      job_to_label_mapping: {job: [label selector]}; {"worker": ["job-name=tensorflow"]} if None.
      tf_server_port: the port of all tasks.
      rpc_layer: what targets begin with.
      override_client: an object whose list_pod_for_all_namespaces(label_selector=) answers as that of
        Kubernetes' own Python client; by default the command kubectl is asked, with the rights that it has.

    Attributes:
      task_type, task_id: None, for a program to set: pods do not tell which one asks.
    """

    def __init__(
        self,
        job_to_label_mapping=None,
        tf_server_port=8470,
        rpc_layer="grpc",
        override_client=None,
    ):
        super().__init__(rpc_layer)
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port = tf_server_port
        self._client = override_client

    def cluster_spec(self):
        """The ClusterSpec of the pods that there are now, in the order of their names.

        Raises:
          RuntimeError: for a pod that does not run, or if Kubernetes can't be asked.
        """
        tasks = {}
        for job, selectors in self._labels.items():
            pods = [
                pod
                for selector in selectors
                for pod in sorted(self._pods(selector), key=lambda pod: pod[0])
            ]
            for name, address, phase in pods:
                if phase != "Running" or not address:
                    raise RuntimeError(
                        f"Pod {name!r} of job {job!r} is not running; it is {phase!r}"
                    )
            tasks[job] = [f"{address}:{self._port}" for _, address, _ in pods]
        return ClusterSpec(tasks)

    def _pods(self, selector):
        """[(name, address, phase)] of a label selector."""
        if self._client is not None:
            found = self._client.list_pod_for_all_namespaces(label_selector=selector).items
            return [(pod.metadata.name, pod.status.pod_ip, pod.status.phase) for pod in found]
        answer = _kubectl("get", "pods", "--all-namespaces", "-l", selector, "-o", "json")
        return [
            (
                pod["metadata"]["name"],
                pod.get("status", {}).get("podIP"),
                pod.get("status", {}).get("phase"),
            )
            for pod in answer.get("items", [])
        ]


def _kubectl(*arguments):
    """What kubectl answers, as JSON. RuntimeError if it does not."""
    command = ["kubectl", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise RuntimeError(
            "KubernetesClusterResolver: there is no command kubectl on the path; install it, or give "
            "override_client="
        ) from None
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(command)}: no answer in {_SECONDS} seconds") from None
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise RuntimeError(f"{' '.join(command)} gave no JSON: {error}") from None


class GCEClusterResolver(ClusterResolver):
    """Nothing here speaks with Google's clouds: a program that makes one is told so.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, *unused, **others):
        raise NotImplementedError(
            "GCEClusterResolver: Google's clouds are not asked here; list the addresses in a "
            "SimpleClusterResolver, or in TF_CONFIG"
        )

"""RunConfig: what the environment tells a program about the task that it is (TF_CONFIG)."""

import logging
import os

from millrace import _millrace
from millrace._cluster.cluster_spec import ClusterSpec


class RunConfig:
    """What TF_CONFIG says, after its rules were applied.

    Args:
      master: the session target; by default it follows from TF_CONFIG.
      model_dir: must agree with TF_CONFIG's if that has one.
      Other arguments are kept as attributes of the same name: tf_random_seed, save_summary_steps,
        save_checkpoints_secs or save_checkpoints_steps, keep_checkpoint_max and the like have TensorFlow's defaults.

    Attributes:
      cluster_spec: the ClusterSpec; an empty one if TF_CONFIG names no cluster.
      task_type: the job of this task, or None; task_id: its index.
      master: "grpc://" and the own address; "" if the cluster is this task alone.
      environment: "local", "cloud" or what TF_CONFIG says.
      is_chief: whether this task does what is to be done once.
      num_ps_replicas, num_worker_replicas: how many tasks these jobs have.
      model_dir: where checkpoints go, or None.

    Raises:
      ValueError: with the place in the JSON, what was found, and what is allowed.
    """

    tf_random_seed = None
    save_summary_steps = 100
    save_checkpoints_secs = 600  # None if save_checkpoints_steps is given alone
    save_checkpoints_steps = None
    keep_checkpoint_max = 5
    keep_checkpoint_every_n_hours = 10000
    log_step_count_steps = 100
    session_config = None

    def __init__(self, master=None, model_dir=None, **others):
        told = _millrace.run_config(os.environ.get("TF_CONFIG"), master, model_dir)
        self._cluster_spec = ClusterSpec(told["cluster"])
        self._task_type = told["task_type"] or None
        self._task_id = told["task_index"]
        self._environment = told["environment"]
        self._master = told["master"]
        self._is_chief = told["is_chief"]
        self._num_ps_replicas = told["num_ps_replicas"]
        self._num_worker_replicas = told["num_worker_replicas"]
        self._model_dir = told["model_dir"] or None
        if others.get("save_checkpoints_steps") is not None:
            others.setdefault("save_checkpoints_secs", None)
        for name, value in others.items():
            setattr(self, name, value)
        for note in told["notes"]:
            logging.getLogger("millrace").warning("TF_CONFIG: %s", note)

    @property
    def cluster_spec(self):
        return self._cluster_spec

    @property
    def task_type(self):
        return self._task_type

    @property
    def task_id(self):
        return self._task_id

    @property
    def environment(self):
        return self._environment

    @property
    def master(self):
        return self._master

    @property
    def evaluation_master(self):
        return ""

    @property
    def is_chief(self):
        return self._is_chief

    @property
    def num_ps_replicas(self):
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self):
        return self._num_worker_replicas

    @property
    def model_dir(self):
        return self._model_dir

    @staticmethod
    def get_task_id():
        """The index of this task, 0 if TF_CONFIG gives none."""
        return _millrace.run_config(os.environ.get("TF_CONFIG"), None, None)["task_index"]

    def __repr__(self):
        return (
            f"<RunConfig task={self.task_type}:{self.task_id} master={self.master!r} "
            f"cluster={self.cluster_spec.as_dict()!r}>"
        )

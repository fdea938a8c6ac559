"""RunConfig: how an Estimator runs: which task it is, how often it saves, summarizes and logs."""

import copy

from millrace._cluster import run_config
from millrace._estimators.replicas import checked_strategy
from millrace._run.config import ConfigProto


class TaskType:
    """The names of jobs that mean something."""

    CHIEF = "chief"
    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    EVALUATOR = "evaluator"


_USE_DEFAULT = object()
_SECONDS = 600

# What `replace` may change.
_CHANGEABLE = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "device_fn",
    "protocol",
    "session_creation_timeout_secs",
    "train_distribute",
    "eval_distribute",
)


class RunConfig(run_config.RunConfig):
    """How an Estimator runs; which task it is follows from TF_CONFIG.

    Args:
      model_dir: the folder of checkpoints; must agree with TF_CONFIG's if that has one.
      tf_random_seed: the graph's seed.
      save_summary_steps: how often to write summaries.
      save_checkpoints_steps, save_checkpoints_secs: how often to save; 600 seconds by default; None for both
        to save not at all.
      session_config: a tf.ConfigProto; by default one by which workers don't wait for each other.
      keep_checkpoint_max, keep_checkpoint_every_n_hours: as for tf.train.Saver.
      log_step_count_steps: how often to log the loss and the steps per second.
      device_fn: for tf.device, around the model; by default a replica_device_setter if there are ps tasks.
      protocol: "grpc".
      session_creation_timeout_secs: how long a worker waits for the chief.
      train_distribute: a tf.distribute.Strategy whose replicas train; input_fn then gives a Dataset of batches
        for one replica, and may name `input_context`.
      eval_distribute: None, or a Strategy of one replica: an evaluation is one.
      experimental_distribute: a tf.contrib.distribute.DistributeConfig instead of both.

    Attributes:
      task_type, task_id: which task this is: "worker", 0 without TF_CONFIG.
      The arguments, and what tf.contrib.learn.RunConfig has.

    Raises:
      ValueError: for values that make no sense, or a TF_CONFIG that does not.
    """

    def __init__(
        self,
        model_dir=None,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_steps=_USE_DEFAULT,
        save_checkpoints_secs=_USE_DEFAULT,
        session_config=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        train_distribute=None,
        device_fn=None,
        protocol=None,
        eval_distribute=None,
        experimental_distribute=None,
        experimental_max_worker_delay_secs=None,
        session_creation_timeout_secs=7200,
    ):
        if experimental_distribute is not None:
            if train_distribute is not None or eval_distribute is not None:
                raise ValueError(
                    "Either `train_distribute`, `eval_distribute` or `experimental_distribute` can be set."
                )
            train_distribute = experimental_distribute.train_distribute
            eval_distribute = experimental_distribute.eval_distribute
        self.train_distribute = checked_strategy(train_distribute, "train_distribute")
        self.eval_distribute = checked_strategy(eval_distribute, "eval_distribute")
        if eval_distribute is not None and eval_distribute.num_replicas_in_sync > 1:
            raise NotImplementedError(
                "RunConfig: eval_distribute= has several replicas, whose metrics would have to be joined; "
                "what one replica evaluates is the same"
            )
        steps, seconds = _chosen(save_checkpoints_steps, save_checkpoints_secs)
        super().__init__(model_dir=None if model_dir is None else str(model_dir))
        if not model_dir and model_dir is not None:
            raise ValueError("model_dir should be non-empty")
        self.tf_random_seed = tf_random_seed
        self.save_summary_steps = save_summary_steps
        self.save_checkpoints_steps = steps
        self.save_checkpoints_secs = seconds
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.log_step_count_steps = log_step_count_steps
        self.device_fn = device_fn
        self.protocol = protocol
        self.session_creation_timeout_secs = session_creation_timeout_secs
        self.experimental_max_worker_delay_secs = experimental_max_worker_delay_secs
        self.session_config = session_config or self._default_session_config()
        _check(self)

    @property
    def task_type(self):
        if self._task_type is None and not self._cluster_spec:
            return TaskType.WORKER
        return self._task_type

    @property
    def is_chief(self):
        if self.task_type == TaskType.EVALUATOR:
            return False
        if not self._cluster_spec:
            return True
        chiefs = {TaskType.CHIEF, TaskType.MASTER}.intersection(self._cluster_spec.jobs)
        return self.task_type in chiefs if chiefs else self._is_chief

    @property
    def num_worker_replicas(self):
        return self._num_worker_replicas if self._cluster_spec else 1

    def _default_session_config(self):
        """None, or a session that waits for the tasks alone that it has to do with."""
        others = {
            TaskType.MASTER: ["/job:ps", "/job:master"],
            TaskType.CHIEF: ["/job:ps", "/job:chief"],
            TaskType.WORKER: ["/job:ps", f"/job:worker/task:{self.task_id}"],
        }
        if not self._cluster_spec or self.task_type not in others:
            return None
        strategy = self.train_distribute
        if strategy is not None and strategy.extended.replica_group is not None:
            return None  # collectives have to do with all
        return ConfigProto(allow_soft_placement=True, device_filters=others[self.task_type])

    def replace(self, **kwargs):
        """A copy with other values.

        Raises:
          ValueError: for names that can't be changed, or values that make no sense.
        """
        made = copy.copy(self)
        if "save_checkpoints_steps" in kwargs and "save_checkpoints_secs" not in kwargs:
            kwargs["save_checkpoints_secs"] = None
        elif "save_checkpoints_secs" in kwargs and "save_checkpoints_steps" not in kwargs:
            kwargs["save_checkpoints_steps"] = None
        for name, value in kwargs.items():
            if name not in _CHANGEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties: {_CHANGEABLE}."
                )
            setattr(made, "_model_dir" if name == "model_dir" else name, value)
        _chosen(made.save_checkpoints_steps, made.save_checkpoints_secs)
        _check(made)
        return made


def _chosen(steps, seconds):
    if steps is _USE_DEFAULT and seconds is _USE_DEFAULT:
        return None, _SECONDS
    steps = None if steps is _USE_DEFAULT else steps
    seconds = None if seconds is _USE_DEFAULT else seconds
    if steps is not None and seconds is not None:
        raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
    return steps, seconds


def _check(config):
    for name, least in (
        ("save_summary_steps", 0),
        ("save_checkpoints_steps", 0),
        ("save_checkpoints_secs", 0),
        ("keep_checkpoint_max", 0),
        ("keep_checkpoint_every_n_hours", None),
        ("log_step_count_steps", None),
        ("session_creation_timeout_secs", None),
    ):
        value = getattr(config, name)
        if value is None:
            continue
        if value < 0 or (least is None and value <= 0):
            raise ValueError(
                f"{name} should be {'> 0' if least is None else '>= 0'}, it is {value}"
            )
    seed = config.tf_random_seed
    if seed is not None and not hasattr(seed, "__index__"):
        raise ValueError(f"tf_random_seed must be integer, it is {seed!r}")
    if config.session_config is not None and not isinstance(config.session_config, ConfigProto):
        raise ValueError("session_config must be instance of ConfigProto")
    if config.device_fn is not None and not callable(config.device_fn):
        raise ValueError("device_fn must be callable with exactly one argument 'op'.")

"""How a TPUEstimator runs, as programs for TPUs say it; on CPUs most of it has nothing to do."""

import collections

from millrace._estimators.run_config import RunConfig as _RunConfig


class InputPipelineConfig:
    """How input is divided: a number of PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


_FIELDS = (
    "iterations_per_loop num_shards num_cores_per_replica per_host_input_for_training tpu_job_name "
    "initial_infeed_sleep_secs input_partition_dims eval_training_input_configuration "
    "experimental_host_call_every_n_steps"
)


class TPUConfig(collections.namedtuple("TPUConfig", _FIELDS)):
    """What only TPUs need to know. It is kept, checked as TensorFlow does, and not used.

    Args:
      iterations_per_loop: how many steps a TPU makes between two returns to its host, at least 1.
      num_shards: how many replicas there are, at least 1; None for all.
      others: kept.

    Raises:
      ValueError: for numbers below 1.
    """

    def __new__(
        cls,
        iterations_per_loop=2,
        num_shards=None,
        num_cores_per_replica=None,
        per_host_input_for_training=True,
        tpu_job_name=None,
        initial_infeed_sleep_secs=None,
        input_partition_dims=None,
        eval_training_input_configuration=InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps=1,
    ):
        for name, value in (
            ("iterations_per_loop", iterations_per_loop),
            ("num_shards", num_shards),
        ):
            if value is not None and value < 1:
                raise ValueError(f"TPUConfig {name} must be positive, it is {value}")
        return super().__new__(
            cls,
            iterations_per_loop,
            num_shards,
            num_cores_per_replica,
            per_host_input_for_training,
            tpu_job_name,
            initial_infeed_sleep_secs,
            input_partition_dims,
            eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )


class RunConfig(_RunConfig):
    """A tf.estimator.RunConfig with what TPUs need to know.

    Args:
      tpu_config: a TPUConfig.
      evaluation_master: the target for evaluations; that of training if None.
      master: the target; by default it follows from TF_CONFIG, or from `cluster`.
      cluster: a ClusterResolver, whose `master()` is the target.
      others: as for tf.estimator.RunConfig.

    Raises:
      ValueError: for a master and a cluster at once.
    """

    def __init__(
        self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **others
    ):
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set in the RunConfig: give one of them.")
        super().__init__(**others)
        self.tpu_config = tpu_config or TPUConfig()
        self.cluster = cluster
        if cluster is not None:
            master = cluster.master()
        if master is not None:
            self._master = master
        self._evaluation_master = self._master if evaluation_master is None else evaluation_master

    @property
    def evaluation_master(self):
        return self._evaluation_master

    def replace(self, **kwargs):
        """A copy with other values; tpu_config among them."""
        tpu_config = kwargs.pop("tpu_config", self.tpu_config)
        made = super().replace(**kwargs)
        made.tpu_config = tpu_config
        return made

"""Strategies as tf.contrib.distribute has them, with the arguments that they had first."""

import collections

from millrace._supervised.distribution import strategies


class DistributeConfig(
    collections.namedtuple("DistributeConfig", ["train_distribute", "eval_distribute"])
):
    """For RunConfig(experimental_distribute=): the strategies of training and evaluation.

    Args:
      train_distribute, eval_distribute: Strategies, or None.
      remote_cluster: must be None: tasks run their programs themselves.

    Raises:
      ValueError: for a remote_cluster.
    """

    __slots__ = ()

    def __new__(cls, train_distribute=None, eval_distribute=None, remote_cluster=None):
        if remote_cluster is not None:
            raise ValueError(
                "DistributeConfig: remote_cluster= must be None: start the program in each task, with its "
                "TF_CONFIG"
            )
        return super().__new__(cls, train_distribute, eval_distribute)


class MirroredStrategy(strategies.MirroredStrategy):
    """tf.distribute.MirroredStrategy.

    Args:
      devices, cross_device_ops: as there.
      num_gpus, num_gpus_per_worker: must be None or 0: there are CPU devices alone here.
      auto_shard_dataset: must be False: each task reads what its program tells it to.

    Raises:
      ValueError: for GPUs or auto_shard_dataset.
    """

    def __init__(
        self,
        devices=None,
        num_gpus=None,
        num_gpus_per_worker=None,
        cross_device_ops=None,
        auto_shard_dataset=False,
        cross_tower_ops=None,
    ):
        _check_no_gpus(num_gpus or num_gpus_per_worker)
        if auto_shard_dataset:
            raise ValueError(
                "auto_shard_dataset: give each task its part with Dataset.shard and an InputContext"
            )
        super().__init__(devices, cross_device_ops or cross_tower_ops)


class CollectiveAllReduceStrategy(strategies.MultiWorkerMirroredStrategy):
    """tf.distribute.experimental.MultiWorkerMirroredStrategy.

    Args:
      num_gpus_per_worker: must be 0: there are CPU devices alone here.
      communication, cluster_resolver: as there.

    Raises:
      ValueError: for GPUs.
    """

    def __init__(
        self,
        num_gpus_per_worker=0,
        communication=strategies.CollectiveCommunication.AUTO,
        cluster_resolver=None,
    ):
        _check_no_gpus(num_gpus_per_worker)
        super().__init__(communication, cluster_resolver)


class ParameterServerStrategy(strategies.ParameterServerStrategy):
    """tf.distribute.experimental.ParameterServerStrategy.

    Args:
      num_gpus_per_worker: must be 0: there are CPU devices alone here.
      cluster_resolver: as there.

    Raises:
      ValueError: for GPUs.
    """

    def __init__(self, num_gpus_per_worker=0, cluster_resolver=None):
        _check_no_gpus(num_gpus_per_worker)
        super().__init__(cluster_resolver)


def _check_no_gpus(count):
    if count:
        raise ValueError(f"{count} GPUs are asked for, and there are CPU devices alone here")

"""tf.distribute: replicas of a model, on devices of one task or in many tasks."""

from millrace._run.server import Server
from millrace._state.replica_contexts import ReduceOp
from millrace._supervised.distribution.cross_device import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReductionToOneDevice,
)
from millrace._supervised.distribution.current import (
    experimental_set_strategy,
    get_loss_reduction,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from millrace._supervised.distribution.inputs import InputContext, InputReplicationMode
from millrace._supervised.distribution.replica_context import ReplicaContext
from millrace._supervised.distribution.strategies import MirroredStrategy, OneDeviceStrategy
from millrace._supervised.distribution.extended import StrategyExtended
from millrace._supervised.distribution.strategy import Strategy
from millrace.distribute import cluster_resolver, experimental

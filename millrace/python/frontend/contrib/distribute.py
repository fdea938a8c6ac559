"""tf.contrib.distribute: tf.distribute under its first names."""

from millrace._supervised.distribution.cross_device import CrossDeviceOps
from millrace._supervised.distribution.current import (
    get_cross_replica_context,
    get_loss_reduction,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
    require_replica_context,
)
from millrace._supervised.distribution.current import get_strategy as get_distribution_strategy
from millrace._supervised.distribution.current import has_strategy as has_distribution_strategy
from millrace._supervised.distribution.first_strategies import (
    CollectiveAllReduceStrategy,
    DistributeConfig,
    MirroredStrategy,
    ParameterServerStrategy,
)
from millrace._supervised.distribution.replica_context import ReplicaContext
from millrace._supervised.distribution.strategies import OneDeviceStrategy, TPUStrategy
from millrace._supervised.distribution.strategy import Strategy as DistributionStrategy

"""tf.distribute.experimental: strategies of many tasks, and of variables in one place."""

from millrace._supervised.distribution.strategies import (
    CentralStorageStrategy,
    CollectiveCommunication,
    MultiWorkerMirroredStrategy,
    ParameterServerStrategy,
    TPUStrategy,
)

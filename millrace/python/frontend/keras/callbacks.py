"""tf.keras.callbacks: what is called while a model trains."""

from millrace._keras.callback import (
    BaseLogger,
    Callback,
    History,
    LambdaCallback,
    ProgbarLogger,
    TerminateOnNaN,
)
from millrace._keras.callbacks import (
    CSVLogger,
    EarlyStopping,
    LearningRateScheduler,
    ModelCheckpoint,
    ReduceLROnPlateau,
    TensorBoard,
)
from millrace._keras.remote_monitor import RemoteMonitor

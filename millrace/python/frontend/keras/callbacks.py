"""tf.keras.callbacks: what is called while a model trains."""

from millrace._keras.callbacks import (
    BaseLogger,
    Callback,
    CSVLogger,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    ModelCheckpoint,
    ProgbarLogger,
    ReduceLROnPlateau,
    TensorBoard,
    TerminateOnNaN,
)
from millrace._keras.remote_monitor import RemoteMonitor

"""tf.keras.callbacks: what is called while a model trains."""

from millrace._keras.callbacks import (
    Callback,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    ModelCheckpoint,
)

"""tf.keras.optimizers.schedules: rates that change with the number of steps."""

from millrace._keras.schedule_names import deserialize, serialize
from millrace._keras.schedules import (
    ExponentialDecay,
    InverseTimeDecay,
    LearningRateSchedule,
    PiecewiseConstantDecay,
    PolynomialDecay,
)

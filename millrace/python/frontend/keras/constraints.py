"""tf.keras.constraints: what becomes of variables after each step of training."""

from millrace._keras.constraints import (
    Constraint,
    MaxNorm,
    MinMaxNorm,
    NonNeg,
    RadialConstraint,
    UnitNorm,
    deserialize,
    get,
    max_norm,
    min_max_norm,
    non_neg,
    radial_constraint,
    serialize,
    unit_norm,
)

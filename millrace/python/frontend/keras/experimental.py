"""tf.keras.experimental: more schedules of rates, another cell, models as SavedModels."""

from millrace._keras.cosine_schedules import (
    CosineDecayRestarts,
    LinearCosineDecay,
    NoisyLinearCosineDecay,
)
from millrace._keras.feature_layers import SequenceFeatures
from millrace._keras.premade import LinearModel, WideDeepModel
from millrace._keras.recurrent_cells import PeepholeLSTMCell
from millrace._keras.saving import export_saved_model, load_from_saved_model
from millrace._keras.schedules import CosineDecay

"""tf.keras.models: layers that are trained together, and their forms in files."""

from millrace._keras.architectures import (
    clone_model,
    model_from_config,
    model_from_json,
    model_from_yaml,
)
from millrace._keras.models import Model
from millrace._keras.saving import load_model, save_model
from millrace._keras.sequential import Sequential

"""tf.keras.models: layers that are trained together."""

from millrace._keras.models import Model, Sequential

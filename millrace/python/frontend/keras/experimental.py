"""tf.keras.experimental: another schedule of rates."""

from millrace._keras.schedules import CosineDecay

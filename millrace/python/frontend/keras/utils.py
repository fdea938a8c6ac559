"""tf.keras.utils: arrays made ready for a model."""

from millrace._samples.arrays import normalize, to_categorical

"""tf.keras.preprocessing: arrays made ready for a model."""

from millrace.keras.preprocessing import image, sequence, text

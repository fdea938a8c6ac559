"""tf.keras.wrappers: models for other libraries."""

from millrace.keras.wrappers import scikit_learn

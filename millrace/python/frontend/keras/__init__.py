"""tf.keras: what programs of TensorFlow 1 take from there beside its models, which are not here."""

from millrace.keras import backend, datasets, initializers, preprocessing, regularizers, utils

"""tf.keras.applications.densenet: nets for pictures."""

from millrace._keras.nets.dense import DenseNet121, DenseNet169, DenseNet201
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_torch as preprocess_input

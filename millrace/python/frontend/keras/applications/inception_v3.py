"""tf.keras.applications.inception_v3: nets for pictures."""

from millrace._keras.nets.inception import InceptionV3
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

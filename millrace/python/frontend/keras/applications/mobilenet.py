"""tf.keras.applications.mobilenet: nets for pictures."""

from millrace._keras.nets.mobile import MobileNet
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

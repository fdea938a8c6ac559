"""tf.keras.applications.mobilenet_v2: nets for pictures."""

from millrace._keras.nets.mobile import MobileNetV2
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

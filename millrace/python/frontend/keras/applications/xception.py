"""tf.keras.applications.xception: nets for pictures."""

from millrace._keras.nets.xception import Xception
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

"""tf.keras.applications.nasnet: nets for pictures."""

from millrace._keras.nets.searched import NASNetLarge, NASNetMobile
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

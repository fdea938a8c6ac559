"""tf.keras.applications.inception_resnet_v2: nets for pictures."""

from millrace._keras.nets.inception import InceptionResNetV2
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

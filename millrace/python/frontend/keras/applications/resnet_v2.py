"""tf.keras.applications.resnet_v2: nets for pictures."""

from millrace._keras.nets.residual import ResNet101V2, ResNet152V2, ResNet50V2
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_tf as preprocess_input

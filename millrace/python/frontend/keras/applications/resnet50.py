"""tf.keras.applications.resnet50: nets for pictures."""

from millrace._keras.nets.residual import ResNet50
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_caffe as preprocess_input

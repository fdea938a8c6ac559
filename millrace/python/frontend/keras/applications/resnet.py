"""tf.keras.applications.resnet: nets for pictures."""

from millrace._keras.nets.residual import ResNet101, ResNet152, ResNet50
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_caffe as preprocess_input

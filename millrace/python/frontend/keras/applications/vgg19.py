"""tf.keras.applications.vgg19: nets for pictures."""

from millrace._keras.nets.vgg import VGG19
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_caffe as preprocess_input

"""tf.keras.applications.vgg16: nets for pictures."""

from millrace._keras.nets.vgg import VGG16
from millrace._keras.nets.predictions import decode_predictions
from millrace._keras.nets.predictions import preprocess_caffe as preprocess_input

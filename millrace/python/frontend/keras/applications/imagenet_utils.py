"""tf.keras.applications.imagenet_utils: pictures as nets take them, classes by name."""

from millrace._keras.nets.predictions import decode_predictions, preprocess_input

"""tf.keras.utils: arrays made ready for a model, objects by their names."""

from millrace._keras.objects import (
    CustomObjectScope,
    custom_object_scope,
    get_custom_objects,
)
from millrace._keras.objects import deserialize_keras_object, serialize_keras_object
from millrace._samples.arrays import normalize, to_categorical

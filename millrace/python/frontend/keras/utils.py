"""tf.keras.utils: arrays and batches made ready for a model, objects by their names."""

from millrace._keras.batches import Sequence
from millrace._keras.objects import (
    CustomObjectScope,
    custom_object_scope,
    deserialize_keras_object,
    get_custom_objects,
    serialize_keras_object,
)
from millrace._samples.arrays import normalize, to_categorical

"""tf.keras.utils: arrays and batches made ready for a model, objects by their names, files, progress."""

from millrace._keras.batches import Sequence
from millrace._keras.calls import get_source_inputs
from millrace._keras.drawing import model_to_dot, plot_model
from millrace._keras.enqueuers import GeneratorEnqueuer, OrderedEnqueuer, SequenceEnqueuer
from millrace._keras.hdf5 import HDF5Matrix
from millrace._keras.objects import (
    CustomObjectScope,
    custom_object_scope,
    deserialize_keras_object,
    get_custom_objects,
    serialize_keras_object,
)
from millrace._keras.progress import Progbar
from millrace._samples.arrays import normalize, to_categorical
from millrace._samples.downloads import get_file

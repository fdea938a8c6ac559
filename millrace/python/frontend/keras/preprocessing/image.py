"""tf.keras.preprocessing.image: pictures as arrays, changed by chance, in batches."""

from millrace._keras.picture_batches import Iterator, NumpyArrayIterator
from millrace._keras.picture_files import DirectoryIterator
from millrace._keras.picture_generator import ImageDataGenerator
from millrace._samples.picture_changes import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    random_brightness,
    random_channel_shift,
    random_rotation,
    random_shear,
    random_shift,
    random_zoom,
)
from millrace._samples.pictures import array_to_img, img_to_array, load_img, save_img

"""ImageDataGenerator: how pictures are changed by chance and made comparable on their way into batches."""

import numpy as np

from millrace._keras.picture_batches import NumpyArrayIterator
from millrace._keras.picture_files import DataFrameIterator, DirectoryIterator
from millrace._keras.settings import format_or_default
from millrace._samples.picture_changes import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    flip_axis,
)

_CHANGES = {
    "theta": 0,
    "tx": 0,
    "ty": 0,
    "shear": 0,
    "zx": 1,
    "zy": 1,
    "flip_horizontal": False,
    "flip_vertical": False,
    "channel_shift_intensity": None,
    "brightness": None,
}


class ImageDataGenerator:
    """Batches of pictures without end, each picture changed by what chance draws.

    Args:
      featurewise_center, featurewise_std_normalization, zca_whitening, zca_epsilon: whether the mean of the
        pictures that `fit` saw is taken away, they are divided by their deviation, and whitened.
      samplewise_center, samplewise_std_normalization: the same by the picture itself.
      rotation_range: degrees; shear_range: degrees.
      width_shift_range, height_shift_range: shares of the size if below 1, else pixels; or a list to choose of.
      brightness_range: two factors; zoom_range: two factors, or a number z for 1 - z and 1 + z.
      channel_shift_range: how much is added to all numbers.
      fill_mode, cval, interpolation_order: as for apply_affine_transform.
      horizontal_flip, vertical_flip: whether half of the pictures are turned over.
      rescale: what numbers are multiplied with; preprocessing_function: a function of a picture. Both come after
        the changes.
      data_format: where channels are; validation_split: the share for the subset "validation"; dtype: of batches.

    Raises:
      ValueError: for numbers out of their range.
    """

    def __init__(
        self,
        featurewise_center=False,
        samplewise_center=False,
        featurewise_std_normalization=False,
        samplewise_std_normalization=False,
        zca_whitening=False,
        zca_epsilon=1e-6,
        rotation_range=0,
        width_shift_range=0.0,
        height_shift_range=0.0,
        brightness_range=None,
        shear_range=0.0,
        zoom_range=0.0,
        channel_shift_range=0.0,
        fill_mode="nearest",
        cval=0.0,
        horizontal_flip=False,
        vertical_flip=False,
        rescale=None,
        preprocessing_function=None,
        data_format=None,
        validation_split=0.0,
        dtype="float32",
        interpolation_order=1,
    ):
        self.data_format = format_or_default(data_format)
        if self.data_format not in ("channels_first", "channels_last"):
            raise ValueError(f"Invalid data_format: {data_format}")
        if not 0 <= validation_split < 1:
            raise ValueError(
                f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}"
            )
        self.featurewise_center = featurewise_center or zca_whitening
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        # Whitened pictures have their deviation already.
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening
        self.featurewise_center = self.featurewise_center or featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.brightness_range, self.channel_shift_range = brightness_range, channel_shift_range
        self.fill_mode, self.cval, self.interpolation_order = fill_mode, cval, interpolation_order
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.validation_split, self.dtype = validation_split, dtype
        if np.isscalar(zoom_range):
            zoom_range = [1 - zoom_range, 1 + zoom_range]
        if len(zoom_range) != 2:
            raise ValueError(
                "`zoom_range` should be a float or a tuple or list of two floats. Received: "
                f"{zoom_range}"
            )
        self.zoom_range = list(zoom_range)
        if brightness_range is not None and len(brightness_range) != 2:
            raise ValueError(
                "`brightness_range should be tuple or list of two floats. Received: "
                f"{brightness_range}"
            )
        is_first = self.data_format == "channels_first"
        # Of a batch; of a picture they are one less.
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if is_first else (3, 1, 2)
        self.mean = self.std = self.principal_components = None

    # ---- Batches ---------------------------------------------------------------------------------

    def flow(
        self, x, y=None, batch_size=32, shuffle=True, sample_weight=None, seed=None, **options
    ):
        """A NumpyArrayIterator over arrays; options: save_to_dir, save_prefix, save_format, subset."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size,
            shuffle,
            sample_weight,
            seed,
            self.data_format,
            dtype=self.dtype,
            **options,
        )

    def flow_from_directory(
        self,
        directory,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        **options,
    ):
        """A DirectoryIterator over the pictures of a folder; arguments: as there."""
        return DirectoryIterator(
            directory,
            self,
            target_size,
            color_mode,
            classes,
            class_mode,
            batch_size,
            shuffle,
            seed,
            self.data_format,
            dtype=self.dtype,
            **options,
        )

    def flow_from_dataframe(
        self, dataframe, directory=None, x_col="filename", y_col="class", weight_col=None, **options
    ):
        """A DataFrameIterator over the pictures of a table; arguments: as there.

        Raises:
          NotImplementedError: for a weight_col, drop_duplicates and sort.
        """
        options.setdefault("dtype", self.dtype)
        asked = [name for name in ("drop_duplicates", "sort") if options.pop(name, None)]
        if asked or weight_col is not None:
            raise NotImplementedError(
                f"{asked or 'weight_col'} of a DataFrame's pictures: prepare the table itself"
            )
        return DataFrameIterator(
            dataframe, directory, self, x_col, y_col, data_format=self.data_format, **options
        )

    # ---- Changes ---------------------------------------------------------------------------------

    def changed(self, x):
        """A picture as it goes into a batch: changed by chance, then made comparable."""
        return self.standardize(self.random_transform(np.asarray(x, self.dtype)))

    def _shift(self, how_far, length):
        """How many pixels, by chance."""
        if not how_far:
            return 0.0
        try:  # a list to choose of
            drawn = np.random.choice(how_far) * np.random.choice([-1, 1])
        except ValueError:
            drawn = np.random.uniform(-how_far, how_far)
        return drawn * length if np.max(how_far) < 1 else drawn

    def get_random_transform(self, img_shape, seed=None):
        """What chance draws for a picture of a shape, for apply_transform."""
        if seed is not None:
            np.random.seed(seed)
        made = dict(_CHANGES)
        if self.rotation_range:
            made["theta"] = np.random.uniform(-self.rotation_range, self.rotation_range)
        made["tx"] = self._shift(self.height_shift_range, img_shape[self.row_axis - 1])
        made["ty"] = self._shift(self.width_shift_range, img_shape[self.col_axis - 1])
        if self.shear_range:
            made["shear"] = np.random.uniform(-self.shear_range, self.shear_range)
        if self.zoom_range != [1, 1]:
            made["zx"], made["zy"] = np.random.uniform(*self.zoom_range, 2)
        made["flip_horizontal"] = bool(np.random.random() < 0.5 and self.horizontal_flip)
        made["flip_vertical"] = bool(np.random.random() < 0.5 and self.vertical_flip)
        if self.channel_shift_range:
            made["channel_shift_intensity"] = np.random.uniform(
                -self.channel_shift_range, self.channel_shift_range
            )
        if self.brightness_range is not None:
            made["brightness"] = np.random.uniform(*self.brightness_range)
        return made

    def apply_transform(self, x, transform_parameters):
        """A picture changed as told: by any of theta, tx, ty, shear, zx, zy (see apply_affine_transform),
        channel_shift_intensity, flip_horizontal, flip_vertical and brightness."""
        told = {**_CHANGES, **transform_parameters}
        rows, columns, channels = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        x = apply_affine_transform(
            x,
            *(told[name] for name in ("theta", "tx", "ty", "shear", "zx", "zy")),
            rows,
            columns,
            channels,
            self.fill_mode,
            self.cval,
            self.interpolation_order,
        )
        if told["channel_shift_intensity"] is not None:
            x = apply_channel_shift(x, told["channel_shift_intensity"], channels)
        if told["flip_horizontal"]:
            x = flip_axis(x, columns)
        if told["flip_vertical"]:
            x = flip_axis(x, rows)
        if told["brightness"] is not None:
            shone = apply_brightness_shift(np.moveaxis(x, channels, -1), told["brightness"])
            x = np.moveaxis(shone, -1, channels)
        return x

    def random_transform(self, x, seed=None):
        """apply_transform of what get_random_transform draws."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def standardize(self, x):
        """A picture, or a batch of them, made comparable. ValueError if that needs `fit`, and there was none."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        x = np.asarray(x, self.dtype)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - x.mean(keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (x.std(keepdims=True) + 1e-6)
        needs = self.featurewise_center or self.featurewise_std_normalization
        if (needs or self.zca_whitening) and self.mean is None:
            raise ValueError(
                "This ImageDataGenerator takes means of all pictures away: show them to it by "
                "`.fit(numpy_data)` first"
            )
        if self.featurewise_center:
            x = x - self.mean
        if self.featurewise_std_normalization:
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            flat = x.reshape(-1, np.prod(x.shape[-3:]))
            x = (flat @ self.principal_components).reshape(x.shape)
        return x

    def fit(self, x, augment=False, rounds=1, seed=None):
        """Takes means, deviations and directions of pictures, for standardize.

        Args:
          x: pictures, an array of four axes.
          augment: whether of changed ones, `rounds` of each.
          seed: of the changes.

        Raises:
          ValueError: for another number of axes.
        """
        x = np.array(x, self.dtype)
        if x.ndim != 4:
            raise ValueError(
                f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}"
            )
        if seed is not None:
            np.random.seed(seed)
        if augment:
            x = np.stack([self.random_transform(each) for _ in range(rounds) for each in x])
        axes, kept = (0, self.row_axis, self.col_axis), [1, 1, 1]
        kept[self.channel_axis - 1] = x.shape[self.channel_axis]
        if self.featurewise_center:
            self.mean = x.mean(axes).reshape(kept)
            x = x - self.mean
        if self.featurewise_std_normalization:
            self.std = x.std(axes).reshape(kept)
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            flat = x.reshape(len(x), -1)
            u, s, _ = np.linalg.svd(flat.T @ flat / len(flat))
            self.principal_components = (u / np.sqrt(s + self.zca_epsilon)) @ u.T

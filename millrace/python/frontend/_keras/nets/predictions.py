"""Pictures as nets for ImageNet take them, and their classes by name."""

import json

import numpy as np

from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._keras.settings import floatx, format_or_default
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import reverse
from millrace._samples.downloads import get_file

_NAMES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
_NAMES_HASH = "c2c37ea517e94d9795004a39431a14cb"
_MEANS = {"torch": (0.485, 0.456, 0.406), "caffe": (103.939, 116.779, 123.68)}
_DEVIATIONS = (0.229, 0.224, 0.225)


def preprocess_input(x, data_format=None, mode="caffe"):
    """Pictures as a net takes them, an array or a Tensor as x is.

    Args:
      x: numbers from 0 to 255, red, green and blue, of shape [height, width, 3] or [batch, height, width, 3],
        or with the channels before height and width; an array of floating type is changed itself.
      data_format: where channels are.
      mode: "caffe" for blue, green and red around ImageNet's means; "tf" for numbers from -1 to 1; "torch" for
        numbers from 0 to 1 around the means, by the deviations.

    Raises:
      ValueError: for another mode or data_format, or another number of axes.
    """
    data_format = format_or_default(data_format)
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format {data_format}")
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Unknown mode {mode!r}; there are 'caffe', 'tf' and 'torch'")
    is_tensor = isinstance(x, Tensor) or not isinstance(x, np.ndarray)
    if is_tensor:
        x = convert(x)
        made = x if x.dtype.is_floating else cast(x, floatx())
        rank = made.shape.ndims
    else:
        made = x if np.issubdtype(x.dtype, np.floating) else x.astype(floatx())
        rank = made.ndim
    if mode == "tf":
        made = made / 127.5 - 1.0
    else:
        if rank not in (3, 4):
            raise ValueError(f"Pictures have three axes, batches of them four; found {x.shape}")
        made = _normed(made, is_tensor, rank, data_format == "channels_first", mode)
    if is_tensor or made.dtype != x.dtype:
        return made
    x[...] = made
    return x


def _normed(x, is_tensor, rank, is_first, mode):
    axis = rank - 3 if is_first else rank - 1
    shape = [1] * rank
    shape[axis] = 3

    def along(values):
        kind = x.dtype.as_numpy_dtype if is_tensor else x.dtype
        return np.array(values, kind).reshape(shape)

    if mode == "torch":
        return (x / 255.0 - along(_MEANS[mode])) / along(_DEVIATIONS)
    x = reverse(x, [axis]) if is_tensor else np.flip(x, axis)
    return x - along(_MEANS[mode])


def decode_predictions(preds, top=5, class_index=None):
    """The names of the most probable classes of ImageNet.

    Args:
      preds: an array of shape [samples, 1000]; top: how many classes of each.
      class_index: the path of a JSON object from the number of a class to [its id, its name]; the one that
        TensorFlow's nets are for, which is fetched, if None.

    Returns:
      for each sample a list of (id, name, probability), the most probable first.

    Raises:
      ValueError: for another shape.
    """
    preds = np.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). "
            f"Found array with shape: {preds.shape}"
        )
    if class_index is None:
        class_index = get_file(
            "imagenet_class_index.json", _NAMES, cache_subdir="models", md5_hash=_NAMES_HASH
        )
    with open(class_index) as file:
        names = json.load(file)
    return [
        [(*names[str(i)], row[i]) for i in np.argsort(row, kind="stable")[::-1][:top]]
        for row in preds
    ]


def preprocess_tf(x, data_format=None):
    """preprocess_input with numbers from -1 to 1."""
    return preprocess_input(x, data_format, "tf")


def preprocess_torch(x, data_format=None):
    """preprocess_input with numbers from 0 to 1 around ImageNet's means, by the deviations."""
    return preprocess_input(x, data_format, "torch")


def preprocess_caffe(x, data_format=None):
    """preprocess_input with blue, green and red around ImageNet's means."""
    return preprocess_input(x, data_format, "caffe")

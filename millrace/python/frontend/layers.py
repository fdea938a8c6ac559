"""tf.layers: dense, convolutions, poolings, dropout, batch normalization, and the class that layers
derive from."""

from millrace._layers.convolutions import (
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    conv1d,
    conv2d,
    conv2d_transpose,
)
from millrace._layers.core import Dense, Dropout, Flatten, dense, dropout, flatten
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._layers.normalization import BatchNormalization, batch_normalization
from millrace._layers.pools import (
    AveragePooling1D,
    AveragePooling2D,
    MaxPooling1D,
    MaxPooling2D,
    average_pooling1d,
    average_pooling2d,
    max_pooling1d,
    max_pooling2d,
)
from millrace._layers.separable import (
    SeparableConv1D,
    SeparableConv2D,
    separable_conv1d,
    separable_conv2d,
)

__all__ = [name for name in globals() if not name.startswith("_")]

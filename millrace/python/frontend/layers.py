"""tf.layers: dense, convolutions, poolings, dropout, batch normalization, and the class that layers
derive from."""

from millrace._layers.convolutions import (
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    conv1d,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
)
from millrace._layers.core import Dense, Dropout, Flatten, dense, dropout, flatten
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._layers.normalization import BatchNormalization, batch_normalization
from millrace._layers.pools import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
    average_pooling1d,
    average_pooling2d,
    average_pooling3d,
    max_pooling1d,
    max_pooling2d,
    max_pooling3d,
)
from millrace._layers.separable import (
    SeparableConv1D,
    SeparableConv2D,
    separable_conv1d,
    separable_conv2d,
)

__all__ = [name for name in globals() if not name.startswith("_")]

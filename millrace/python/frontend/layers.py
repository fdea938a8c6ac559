"""tf.layers: dense, dropout, batch normalization, and the class that layers derive from."""

from millrace._layers.core import Dense, Dropout, Flatten, dense, dropout, flatten
from millrace._layers.input_spec import InputSpec
from millrace._layers.layer import Layer
from millrace._layers.normalization import BatchNormalization, batch_normalization

__all__ = [name for name in globals() if not name.startswith("_")]

"""tf.keras.regularizers: functions of weights whose results join the loss."""

from millrace._keras.named import deserialize_regularizer as deserialize
from millrace._keras.named import regularizer as get
from millrace._keras.named import serialize_regularizer as serialize
from millrace._layers.regularizers import L1L2, Regularizer, l1, l1_l2, l2

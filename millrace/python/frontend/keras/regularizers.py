"""tf.keras.regularizers: functions of weights whose results join the loss."""

from millrace._layers.regularizers import L1L2, Regularizer, l1, l1_l2, l2

"""tf.contrib.tensorboard: what programs tell TensorBoard besides events."""

from millrace.contrib.tensorboard import plugins

"""tf.contrib.tensorboard.plugins: what parts of TensorBoard are told."""

from millrace.contrib.tensorboard.plugins import projector

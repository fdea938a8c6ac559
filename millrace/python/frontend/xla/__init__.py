"""tf.xla: what asks TensorFlow to compile, and here runs as it is."""

from millrace.xla import experimental

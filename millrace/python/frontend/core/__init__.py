"""tensorflow.core: messages by the modules in which TensorFlow's programs look for them."""

from millrace.core import framework, protobuf

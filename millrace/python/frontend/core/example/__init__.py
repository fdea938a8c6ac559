"""tensorflow.core.example: examples to train on, as messages."""

from millrace.core.example import example_pb2, feature_pb2

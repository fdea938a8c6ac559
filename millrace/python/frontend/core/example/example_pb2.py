"""tensorflow.core.example.example_pb2: examples, and sequences of them."""

from millrace._values.examples import Example, SequenceExample

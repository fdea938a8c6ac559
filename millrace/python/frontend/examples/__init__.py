"""tensorflow.examples: what programs take from TensorFlow's own tutorials."""

from millrace.examples import tutorials

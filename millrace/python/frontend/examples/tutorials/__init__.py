"""tensorflow.examples.tutorials: of these, that of MNIST."""

from millrace.examples.tutorials import mnist

"""tensorflow.examples.tutorials.mnist: handwritten digits, and a network for them."""

from millrace.examples.tutorials.mnist import input_data, mnist

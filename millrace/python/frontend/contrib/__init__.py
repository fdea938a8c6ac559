"""tf.contrib: what programs of TensorFlow 1 take from there."""

from millrace.contrib import framework, layers, learn, metrics, slim, training

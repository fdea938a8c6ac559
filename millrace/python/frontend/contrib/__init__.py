"""tf.contrib: what programs of TensorFlow 1 take from there."""

from millrace.contrib import framework, layers, learn, lookup, metrics, slim, training

"""tf.keras.datasets: data that is on this machine; nothing is downloaded."""

from millrace.keras.datasets import mnist

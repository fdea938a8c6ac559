"""Nets for pictures, as tf.keras.applications has them: the layers, their names and order."""

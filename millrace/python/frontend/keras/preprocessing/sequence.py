"""tf.keras.preprocessing.sequence: sequences of one length."""

from millrace._samples.arrays import pad_sequences

"""tf.keras.preprocessing.sequence: sequences of one length, windows of series, pairs of words."""

from millrace._keras.timeseries import TimeseriesGenerator
from millrace._samples.arrays import pad_sequences
from millrace._samples.pairs import make_sampling_table, skipgrams

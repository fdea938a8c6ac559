"""tf.keras.datasets.reuters: news by topic."""

from millrace._samples.keras_datasets import reuters as load_data
from millrace._samples.keras_datasets import reuters_word_index as get_word_index

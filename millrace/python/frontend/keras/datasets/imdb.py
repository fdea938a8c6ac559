"""tf.keras.datasets.imdb: reviews of films."""

from millrace._samples.keras_datasets import imdb as load_data
from millrace._samples.keras_datasets import imdb_word_index as get_word_index

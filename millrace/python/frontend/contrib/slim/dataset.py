"""tf.contrib.slim.dataset: where records are, and what is in them."""

from millrace._input.slim_data import Dataset

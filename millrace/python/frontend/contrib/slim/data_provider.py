"""tf.contrib.slim.data_provider: items by name."""

from millrace._input.slim_data import DataProvider

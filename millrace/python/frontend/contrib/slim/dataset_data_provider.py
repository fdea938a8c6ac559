"""tf.contrib.slim.dataset_data_provider: the items of a Dataset's records."""

from millrace._input.slim_data import DatasetDataProvider

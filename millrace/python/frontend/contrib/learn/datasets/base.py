"""tf.contrib.learn.datasets.base: rows of CSV files, and files that are fetched once."""

from millrace._samples.mnist import Datasets
from millrace._samples.named_sets import (
    Dataset,
    load_csv_with_header,
    load_csv_without_header,
    maybe_download,
)

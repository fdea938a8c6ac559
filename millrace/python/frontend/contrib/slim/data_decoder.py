"""tf.contrib.slim.data_decoder: the base of decoders of records."""

from millrace._input.item_handlers import DataDecoder

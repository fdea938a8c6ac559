"""tf.contrib.slim.tfexample_decoder: items of tf.train.Examples."""

from millrace._input.item_handlers import (
    BackupHandler,
    BoundingBox,
    Image,
    ItemHandler,
    ItemHandlerCallback,
    LookupTensor,
    SparseTensor,
    Tensor,
    TFExampleDecoder,
)

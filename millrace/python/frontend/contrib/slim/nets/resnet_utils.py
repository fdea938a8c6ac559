"""tf.contrib.slim.nets.resnet_utils: what residual nets are made of."""

from millrace._nets.residual import (
    Block,
    conv2d_same,
    resnet_arg_scope,
    stack_blocks_dense,
    subsample,
)

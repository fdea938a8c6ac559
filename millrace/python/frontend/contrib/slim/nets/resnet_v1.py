"""tf.contrib.slim.nets.resnet_v1: residual nets."""

from millrace._nets.residual import resnet_arg_scope
from millrace._nets.residual_v1 import (
    bottleneck,
    resnet_v1,
    resnet_v1_50,
    resnet_v1_101,
    resnet_v1_152,
    resnet_v1_200,
    resnet_v1_block,
)

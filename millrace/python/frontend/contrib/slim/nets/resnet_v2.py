"""tf.contrib.slim.nets.resnet_v2: residual nets of the second kind."""

from millrace._nets.residual import resnet_arg_scope
from millrace._nets.residual_v2 import (
    bottleneck,
    resnet_v2,
    resnet_v2_50,
    resnet_v2_101,
    resnet_v2_152,
    resnet_v2_200,
    resnet_v2_block,
)

"""tf.contrib.slim.nets.alexnet: AlexNet."""

from millrace._nets.alexnet import alexnet_v2, alexnet_v2_arg_scope

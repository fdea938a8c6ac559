"""tf.contrib.slim.nets: nets for images."""

from millrace.contrib.slim.nets import alexnet, resnet_utils, resnet_v1, resnet_v2, vgg

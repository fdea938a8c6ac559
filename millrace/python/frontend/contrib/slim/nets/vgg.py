"""tf.contrib.slim.nets.vgg: the VGG nets."""

from millrace._nets.vgg import vgg_16, vgg_19, vgg_a, vgg_arg_scope

vgg_d, vgg_e = vgg_16, vgg_19

"""tf.contrib.slim.nets.inception_v1: Inception, version 1."""

from millrace._nets.inception import inception_arg_scope as inception_v1_arg_scope
from millrace._nets.inception_v1 import inception_v1, inception_v1_base

"""tf.contrib.slim.nets.inception: the Inception nets."""

from millrace._nets.inception import inception_arg_scope
from millrace._nets.inception_v1 import inception_v1, inception_v1_base
from millrace._nets.inception_v2 import inception_v2, inception_v2_base
from millrace._nets.inception_v3 import inception_v3, inception_v3_base

inception_v1_arg_scope = inception_v2_arg_scope = inception_v3_arg_scope = inception_arg_scope

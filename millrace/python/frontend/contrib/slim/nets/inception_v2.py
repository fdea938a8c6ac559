"""tf.contrib.slim.nets.inception_v2: Inception, version 2."""

from millrace._nets.inception import inception_arg_scope as inception_v2_arg_scope
from millrace._nets.inception_v2 import inception_v2, inception_v2_base

"""tf.contrib.slim.nets.inception_v3: Inception, version 3."""

from millrace._nets.inception import inception_arg_scope as inception_v3_arg_scope
from millrace._nets.inception_v3 import inception_v3, inception_v3_base

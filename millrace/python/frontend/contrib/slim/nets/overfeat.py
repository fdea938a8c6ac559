"""tf.contrib.slim.nets.overfeat: OverFeat."""

from millrace._nets.overfeat import overfeat, overfeat_arg_scope

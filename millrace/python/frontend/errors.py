"""tf.errors: the errors of running graphs, one class per code."""

from millrace._values.errors import *

"""tf.dtypes: the types of elements, and `as_dtype`."""

from millrace._values.dtypes import *

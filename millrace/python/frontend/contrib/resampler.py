"""tf.contrib.resampler: images read at places between their pixels."""

from millrace._ops.resampling import resampler

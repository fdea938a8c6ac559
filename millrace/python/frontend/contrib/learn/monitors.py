"""tf.contrib.learn.monitors: what watches a training."""

from millrace._canned.validation_monitors import ValidationMonitor

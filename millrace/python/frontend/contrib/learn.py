"""tf.contrib.learn: RunConfig."""

from millrace.run_config import RunConfig

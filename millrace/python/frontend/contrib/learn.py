"""tf.contrib.learn: RunConfig."""

from millrace.run_config import RunConfig

__all__ = ["RunConfig"]

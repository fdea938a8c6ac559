"""tf.contrib.learn: RunConfig."""

from millrace._cluster.run_config import RunConfig

__all__ = ["RunConfig"]

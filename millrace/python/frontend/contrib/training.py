"""tf.contrib.training: HParams, the settings of a model."""

from millrace._values.hparams import HParams

__all__ = ["HParams"]

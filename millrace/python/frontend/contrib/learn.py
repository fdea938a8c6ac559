"""tf.contrib.learn: RunConfig, and the names of what a model is built for."""

from millrace._cluster.run_config import RunConfig


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


__all__ = ["ModeKeys", "RunConfig"]

"""tf.contrib.learn: RunConfig, the names of what a model is built for, and texts as numbers."""

from millrace._cluster.run_config import RunConfig
from millrace.contrib.learn import preprocessing


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


__all__ = ["ModeKeys", "RunConfig", "preprocessing"]

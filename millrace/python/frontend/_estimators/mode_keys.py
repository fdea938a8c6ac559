"""What a model's function is called for."""


class ModeKeys:
    """tf.estimator.ModeKeys."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class MetricKeys:
    """The names that every evaluation gives."""

    LOSS = "loss"
    AVERAGE_LOSS = "average_loss"
    REGULARIZATION_LOSS = "regularization_loss"

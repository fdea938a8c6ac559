"""The words of tf.contrib.learn: what a model is built for, what it predicts, what goes wrong."""


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key):
        """Raises ValueError for what is no mode."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class ProblemType:
    """What kind of answer a model gives."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


class PredictionKey:
    """The names of predictions of canned estimators."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"


class NotFittedError(ValueError, AttributeError):
    """A model is asked for something that has not been trained."""

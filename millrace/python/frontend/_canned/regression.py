"""The head of numbers that are to be near labels."""

from millrace import _gen as gen_ops
from millrace._canned.heads import Head, PredictionKeys, ServingKeys
from millrace._canned.measures import weighted_mean
from millrace._estimators.export_outputs import PredictOutput, RegressionOutput
from millrace._measures.losses import Reduction
from millrace._ops.arithmetic import cast
from millrace._saved_models.signature_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from millrace._values import dtypes


class RegressionHead(Head):
    """Numbers: the loss is the square of how far each is from its label.

    Args:
      label_dimension: how many an example has.
      weight_column, loss_reduction, loss_fn, name: as for Head.
      inverse_link_fn: a function of the logits that gives the predictions; these are the logits if None.

    Raises:
      ValueError: for a label_dimension below 1.
    """

    labels_dimension = None
    has_weight_per_logit = True

    def __init__(
        self,
        weight_column=None,
        label_dimension=1,
        loss_reduction=Reduction.SUM,
        loss_fn=None,
        inverse_link_fn=None,
        name=None,
    ):
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._inverse_link_fn = inverse_link_fn

    def predictions(self, logits):
        if self._inverse_link_fn is None:
            return {PredictionKeys.PREDICTIONS: logits}
        predicted = self._inverse_link_fn(logits)
        return {PredictionKeys.PREDICTIONS: predicted, PredictionKeys.LOGITS: logits}

    def export_outputs(self, predictions):
        value = RegressionOutput(predictions[PredictionKeys.PREDICTIONS])
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: value,
            ServingKeys.REGRESS: value,
            ServingKeys.PREDICT: PredictOutput(predictions),
        }

    def label_numbers(self, labels):
        return cast(labels, dtypes.float32)

    def losses(self, labels, logits):
        return gen_ops.squared_difference(logits, labels)

    def metrics(self, labels, predictions, weights, losses):
        predicted = predictions[PredictionKeys.PREDICTIONS]
        return {
            "prediction/mean": weighted_mean(predicted, weights, "prediction/mean"),
            "label/mean": weighted_mean(labels, weights, "label/mean"),
        }

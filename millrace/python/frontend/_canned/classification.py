"""Heads that tell classes apart of which each example has one: two of them, or more."""

from millrace import _gen as gen_ops
from millrace._canned.heads import Head, PredictionKeys, ServingKeys
from millrace._canned.measures import areas, at_thresholds, checked_thresholds, weighted_mean
from millrace._estimators.export_outputs import (
    ClassificationOutput,
    PredictOutput,
    RegressionOutput,
)
from millrace._flow.checks import in_range
from millrace._graph.conversion import convert
from millrace._measures import counts, means
from millrace._measures.losses import Reduction
from millrace._ops.arithmetic import argmax, cast, sigmoid
from millrace._ops.arrays import concat, expand_dims, squeeze, tile, zeros_like
from millrace._ops.arrays import shape as shape_of
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from millrace._ops.layers import softmax
from millrace._saved_models.signature_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from millrace._state.index_tables import index_table_from_tensor, index_to_string_table_from_tensor
from millrace._values import dtypes


class ClassHead(Head):
    """What heads of classes share: their names, which labels may have and exports tell."""

    def __init__(self, n_classes, logits_dimension, label_vocabulary, *settings):
        super().__init__(logits_dimension, *settings)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(
                "label_vocabulary should be a list or a tuple. Given type: "
                f"{type(label_vocabulary)}"
            )
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                "label_vocabulary must have one label per class: its length must be n_classes "
                f"({n_classes}), not {len(label_vocabulary)}: {list(label_vocabulary)}"
            )
        self._n_classes = n_classes
        self._vocabulary = label_vocabulary and list(label_vocabulary)

    def _class_numbers(self, labels):
        """Labels as numbers of classes, which are checked when it runs."""
        if self._vocabulary:
            if labels.dtype != dtypes.string:
                raise ValueError(
                    "Labels dtype should be string if there is a vocabulary. Instead got "
                    f"{labels.dtype}"
                )
            labels = index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(
                labels
            )
        elif labels.dtype == dtypes.string:
            raise ValueError(
                "Labels are strings: give the estimator a label_vocabulary= with one for each class"
            )
        last = self._n_classes - 1
        return in_range(labels, last, f"labels must be in [0, {last}]")

    def _class_predictions(self, logits, class_ids):
        """Predictions that all have whose labels are classes."""
        class_ids = expand_dims(class_ids, -1)
        if self._vocabulary:
            table = index_to_string_table_from_tensor(self._vocabulary, name="class_string_lookup")
            classes = table.lookup(class_ids)
        else:
            classes = gen_ops.as_string(class_ids, name="str_classes")
        numbers = gen_ops.range(0, self._n_classes, 1)
        return {
            PredictionKeys.CLASS_IDS: class_ids,
            PredictionKeys.CLASSES: classes,
            PredictionKeys.ALL_CLASS_IDS: _for_each(numbers, logits),
            PredictionKeys.ALL_CLASSES: _for_each(self._class_names(), logits),
        }

    def _class_names(self):
        return convert(self._vocabulary or [str(number) for number in range(self._n_classes)])

    def export_outputs(self, predictions):
        scores = predictions[PredictionKeys.PROBABILITIES]
        classes = ClassificationOutput(scores, _for_each(self._class_names(), scores))
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes,
            ServingKeys.CLASSIFY: classes,
            ServingKeys.PREDICT: PredictOutput(predictions),
        }


def _for_each(row, rows):
    """A matrix with this row for each of other ones."""
    return tile(expand_dims(row, 0), gen_ops.pack([shape_of(rows)[0], 1]))


class MultiClassHead(ClassHead):
    """Three or more classes, of which each example has one: the softmax of as many logits.

    Args:
      n_classes: how many, at least 3.
      weight_column, loss_reduction, loss_fn, name: as for Head.
      label_vocabulary: the labels, strings; they are numbers from 0 on if None.

    Raises:
      ValueError: for fewer classes, or as many labels as there are not classes.
    """

    def __init__(
        self,
        n_classes,
        weight_column=None,
        label_vocabulary=None,
        loss_reduction=Reduction.SUM,
        loss_fn=None,
        name=None,
    ):
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        settings = weight_column, loss_reduction, loss_fn, name
        super().__init__(n_classes, n_classes, label_vocabulary, *settings)

    def predictions(self, logits):
        return {
            PredictionKeys.LOGITS: logits,
            PredictionKeys.PROBABILITIES: softmax(logits, name=PredictionKeys.PROBABILITIES),
            **self._class_predictions(logits, argmax(logits, -1)),
        }

    def label_numbers(self, labels):
        if self._vocabulary is None and not (
            labels.dtype.is_integer or labels.dtype == dtypes.string
        ):
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        return self._class_numbers(labels)

    def losses(self, labels, logits):
        return expand_dims(
            sparse_softmax_cross_entropy_with_logits(labels=squeeze(labels, [-1]), logits=logits),
            -1,
        )

    def metrics(self, labels, predictions, weights, losses):
        class_ids = predictions[PredictionKeys.CLASS_IDS]
        return {"accuracy": means.accuracy(labels, class_ids, weights, name="accuracy")}


class BinaryHead(ClassHead):
    """Two classes: the sigmoid of one logit is the probability of the second.

    Args:
      weight_column, loss_reduction, loss_fn, name: as for Head.
      thresholds: numbers between 0 and 1 at which accuracy, precision and recall are measured too.
      label_vocabulary: both labels, strings; they are numbers from 0 to 1 if None.

    Raises:
      ValueError: for other thresholds, or as many labels as there are not classes.
    """

    def __init__(
        self,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=Reduction.SUM,
        loss_fn=None,
        name=None,
    ):
        self._thresholds = checked_thresholds(thresholds)
        super().__init__(2, 1, label_vocabulary, weight_column, loss_reduction, loss_fn, name)

    def predictions(self, logits):
        both = concat([zeros_like(logits), logits], -1, name="two_class_logits")
        return {
            PredictionKeys.LOGITS: logits,
            PredictionKeys.LOGISTIC: sigmoid(logits, name=PredictionKeys.LOGISTIC),
            PredictionKeys.PROBABILITIES: softmax(both, name=PredictionKeys.PROBABILITIES),
            **self._class_predictions(logits, argmax(both, -1)),
        }

    def export_outputs(self, predictions):
        value = RegressionOutput(predictions[PredictionKeys.LOGISTIC])
        return {**super().export_outputs(predictions), ServingKeys.REGRESS: value}

    def label_numbers(self, labels):
        if labels.dtype != dtypes.string:
            labels = cast(labels, dtypes.float32)  # bools too
        return cast(self._class_numbers(labels), dtypes.float32)

    def losses(self, labels, logits):
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def metrics(self, labels, predictions, weights, losses):
        logistic = predictions[PredictionKeys.LOGISTIC]
        given = {"predictions": predictions[PredictionKeys.CLASS_IDS], "weights": weights}
        label_mean = weighted_mean(labels, weights, "label/mean")
        return {
            "accuracy": means.accuracy(labels, name="accuracy", **given),
            "precision": counts.precision(labels, name="precision", **given),
            "recall": counts.recall(labels, name="recall", **given),
            "prediction/mean": weighted_mean(logistic, weights, "prediction/mean"),
            "label/mean": label_mean,
            "accuracy_baseline": tuple(gen_ops.maximum(mean, 1.0 - mean) for mean in label_mean),
            **areas(labels, logistic, weights),
            **at_thresholds(labels, logistic, weights, self._thresholds),
        }


def class_head(n_classes, weight_column, label_vocabulary, loss_reduction):
    """The head of so many classes. ValueError for fewer than two."""
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be at least 2: {n_classes}.")
    settings = {
        "weight_column": weight_column,
        "label_vocabulary": label_vocabulary,
        "loss_reduction": loss_reduction,
    }
    return BinaryHead(**settings) if n_classes == 2 else MultiClassHead(n_classes, **settings)

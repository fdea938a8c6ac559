"""Metrics as objects that count what lies on which side of thresholds, and AUC and MeanIoU."""

import numpy as np

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._keras.metric_objects import Metric
from millrace._keras.settings import epsilon
from millrace._measures.confusion import confusion_matrix
from millrace._ops.arithmetic import argmin, cast
from millrace._ops.arrays import ones_like, reshape, where
from millrace._ops.reductions import reduce_sum
from millrace._values import dtypes

KINDS = {"true_positives": (True, True), "false_positives": (False, True)}
KINDS |= {"true_negatives": (False, False), "false_negatives": (True, False)}


def _thresholds(thresholds, default):
    made = default if thresholds is None else thresholds
    made = [float(each) for each in (made if isinstance(made, (list, tuple)) else [made])]
    wrong = [each for each in made if not 0 <= each <= 1]
    if wrong:
        raise ValueError(
            f"Threshold values must be in [0, 1]. Invalid values: {', '.join(map(str, wrong))}"
        )
    return made


def _even(count):
    """`count` thresholds from 0 to 1, the first and the last a little beyond."""
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [-epsilon(), *inner, 1.0 + epsilon()]


class _Counts(Metric):
    """The base: for each threshold, weighted numbers of the kinds in `kinds`, which are its variables.

    Args:
      thresholds: numbers; a prediction above one is positive there.
      kinds: names of KINDS.
      top_k: only the k largest of each sample count as positive, whatever the threshold.
      class_id: the one class to look at.
    """

    def __init__(self, thresholds, kinds, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__(name, dtype)
        self.thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        for kind in kinds:
            setattr(self, kind, self.add_weight(kind, [len(thresholds)]))
        self._kinds = kinds

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch in: labels that are not 0 are positive; predictions are from 0 to 1."""
        y_pred, y_true = cast(y_pred, self.dtype), convert(y_true)
        y_true = reshape(cast(cast(y_true, dtypes.bool), self.dtype), gen_ops.shape(y_pred))
        weights = ones_like(y_pred)
        if sample_weight is not None:
            given = cast(sample_weight, self.dtype)
            while given.shape.ndims and given.shape.ndims < y_pred.shape.ndims:
                given = gen_ops.expand_dims(given, -1)
            weights = weights * given
        if self.top_k is not None:
            y_pred = _largest(y_pred, self.top_k)
        if self.class_id is not None:
            y_true, y_pred, weights = (
                each[..., self.class_id] for each in (y_true, y_pred, weights)
            )
        flat = [reshape(each, [1, -1]) for each in (y_true, y_pred, weights)]
        labels, predictions, weights = flat
        borders = convert([[each] for each in self.thresholds], self.dtype)
        above = cast(predictions > borders, self.dtype)
        changes = []
        for kind in self._kinds:
            is_true, is_positive = KINDS[kind]
            counted = (labels if is_true else 1.0 - labels) * weights
            hits = counted * (above if is_positive else 1.0 - above)
            changes.append(
                getattr(self, kind).assign_add(reduce_sum(hits, axis=1), read_value=False)
            )
        return group(*changes)

    def read(self, *kinds):
        """The numbers of kinds, Tensors of a number for each threshold."""
        return [getattr(self, kind).read_value() for kind in kinds]

    def per_threshold(self, values):
        """A vector; a scalar if there is one threshold."""
        return values[0] if len(self.thresholds) == 1 else values


def _largest(y_pred, k):
    """Predictions that are not among the k largest of their last axis become minus infinity."""
    _, places = gen_ops.top_kv2(y_pred, k, sorted=False)
    kept = gen_ops.one_hot(places, gen_ops.shape(y_pred)[-1], 1.0, 0.0)
    is_kept = reduce_sum(kept, axis=-2) > 0
    return where(
        is_kept, y_pred, gen_ops.fill(gen_ops.shape(y_pred), convert(-np.inf, y_pred.dtype))
    )


class _OneKind(_Counts):
    """The weighted number of one kind; `thresholds`: a number or a list, 0.5 if None."""

    kind = "true_positives"

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(_thresholds(thresholds, 0.5), [self.kind], name=name, dtype=dtype)

    def result(self):
        return self.per_threshold(*self.read(self.kind))


class TruePositives(_OneKind):
    """How many are positive and predicted so; `thresholds`: a number or a list, 0.5 if None."""


class FalsePositives(_OneKind):
    """How many are negative but predicted positive; `thresholds`: a number or a list, 0.5 if None."""

    kind = "false_positives"


class TrueNegatives(_OneKind):
    """How many are negative and predicted so; `thresholds`: a number or a list, 0.5 if None."""

    kind = "true_negatives"


class FalseNegatives(_OneKind):
    """How many are positive but predicted negative; `thresholds`: a number or a list, 0.5 if None."""

    kind = "false_negatives"


class _Share(_Counts):
    """The true positives as a share of themselves and another kind."""

    other = "false_positives"

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        default = 0.5 if top_k is None else None
        made = [-np.inf] if thresholds is None and default is None else None
        super().__init__(
            made or _thresholds(thresholds, default),
            ["true_positives", self.other],
            top_k,
            class_id,
            name,
            dtype,
        )

    def result(self):
        right, others = self.read("true_positives", self.other)
        return self.per_threshold(gen_ops.div_no_nan(right, right + others))


class Precision(_Share):
    """The share of what was predicted positive that is so.

    Args:
      thresholds: a number or a list: above it a prediction is positive; 0.5 if None and there is no top_k.
      top_k: only the k largest of each sample are positive.
      class_id: the one class to look at.
    """


class Recall(_Share):
    """The share of what is positive that was predicted so; arguments as for Precision."""

    other = "false_negatives"


class AUC(_Counts):
    """The area under a curve over thresholds.

    Args:
      num_thresholds: how many there are.
      curve: "ROC" or "PR".
      summation_method: "interpolation", "minoring" or "majoring": which height a piece of area has.
      name, dtype: as for Metric.
      thresholds: numbers between 0 and 1 instead of num_thresholds even ones.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(
        self,
        num_thresholds=200,
        curve="ROC",
        summation_method="interpolation",
        name=None,
        dtype=None,
        thresholds=None,
    ):
        if curve not in ("ROC", "PR"):
            raise ValueError(f'Invalid AUC curve value "{curve}"; there are "ROC" and "PR"')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(
                f'Invalid AUC summation method value "{summation_method}"; there are "interpolation", '
                '"minoring" and "majoring"'
            )
        if thresholds is None and num_thresholds <= 1:
            raise ValueError("`num_thresholds` must be > 1.")
        made = _even(num_thresholds)
        if thresholds is not None:
            made = [-epsilon(), *sorted(_thresholds(list(thresholds), None)), 1.0 + epsilon()]
        super().__init__(made, list(KINDS), name=name, dtype=dtype)
        self.curve, self.summation_method = curve, summation_method

    def result(self):
        tp, fp, tn, fn = self.read(*KINDS)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return _precision_recall_area(tp, fp, fn)
        recall = gen_ops.div_no_nan(tp, tp + fn)
        if self.curve == "ROC":
            x, y = gen_ops.div_no_nan(fp, fp + tn), recall
        else:
            x, y = recall, gen_ops.div_no_nan(tp, tp + fp)
        first, second = y[:-1], y[1:]
        if self.summation_method == "interpolation":
            heights = (first + second) / 2.0
        elif self.summation_method == "minoring":
            heights = gen_ops.minimum(first, second)
        else:
            heights = gen_ops.maximum(first, second)
        return reduce_sum((x[:-1] - x[1:]) * heights)


def _precision_recall_area(tp, fp, fn):
    """The area where between two thresholds true positives grow linearly with positives (Davis and
    Goadrich, 2006)."""
    positives = tp + fp
    more = tp[:-1] - tp[1:]
    slope = gen_ops.div_no_nan(more, gen_ops.maximum(positives[:-1] - positives[1:], 0.0))
    begin = tp[1:] - slope * positives[1:]
    has_both = gen_ops.logical_and(positives[:-1] > 0, positives[1:] > 0)
    ratio = where(
        has_both,
        gen_ops.div_no_nan(positives[:-1], gen_ops.maximum(positives[1:], 0.0)),
        ones_like(positives[1:]),
    )
    pieces = slope * (more + begin * gen_ops.log(ratio))
    return reduce_sum(gen_ops.div_no_nan(pieces, gen_ops.maximum(tp[1:] + fn[1:], 0.0)))


class _AtOther(_Counts):
    """One rate at the threshold where another is nearest to a value."""

    def __init__(self, value, num_thresholds, name, dtype, what):
        if not 0 <= value <= 1:
            raise ValueError(f"`{what}` must be in the range [0, 1].")
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        made = [0.5]
        if num_thresholds > 1:
            made = [0.0, *_even(num_thresholds)[1:-1], 1.0]
        super().__init__(made, list(KINDS), name=name, dtype=dtype)
        self.value = value

    def rates(self):
        """(sensitivity, specificity), vectors over thresholds."""
        tp, fp, tn, fn = self.read(*KINDS)
        return gen_ops.div_no_nan(tp, tp + fn), gen_ops.div_no_nan(tn, tn + fp)

    def at(self, wanted, given):
        """`wanted` where `given` is nearest to the value."""
        return gen_ops.gather_v2(wanted, argmin(gen_ops.abs(given - self.value), 0), 0)


class SensitivityAtSpecificity(_AtOther):
    """The share of positives that was found, at the threshold of this share of negatives found."""

    def __init__(self, specificity, num_thresholds=200, name=None, dtype=None):
        super().__init__(specificity, num_thresholds, name, dtype, "specificity")

    def result(self):
        sensitivity, specificity = self.rates()
        return self.at(sensitivity, specificity)


class SpecificityAtSensitivity(_AtOther):
    """The share of negatives that was found, at the threshold of this share of positives found."""

    def __init__(self, sensitivity, num_thresholds=200, name=None, dtype=None):
        super().__init__(sensitivity, num_thresholds, name, dtype, "sensitivity")

    def result(self):
        sensitivity, specificity = self.rates()
        return self.at(specificity, sensitivity)


class MeanIoU(Metric):
    """The mean over classes of: those that are and are predicted one, by those that are or are.

    Labels and predictions are numbers of classes below num_classes.
    """

    def __init__(self, num_classes, name=None, dtype=None):
        super().__init__(name, dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", [num_classes, num_classes])

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch in."""
        flat = [reshape(cast(each, dtypes.int64), [-1]) for each in (y_true, y_pred)]
        weights = None if sample_weight is None else reshape(cast(sample_weight, self.dtype), [-1])
        counted = confusion_matrix(*flat, self.num_classes, weights=weights, dtype=self.dtype)
        return self.total_cm.assign_add(counted, read_value=False)

    def result(self):
        counted = self.total_cm.read_value()
        right = gen_ops.diag_part(counted)
        either = reduce_sum(counted, axis=0) + reduce_sum(counted, axis=1) - right
        classes = reduce_sum(cast(gen_ops.not_equal(either, 0.0), self.dtype))
        return gen_ops.div_no_nan(reduce_sum(gen_ops.div_no_nan(right, either)), classes)

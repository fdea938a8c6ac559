"""tf.contrib.estimator: heads for models of one's own, estimators that take them, hooks that stop a training."""

from millrace._canned.added_metrics import add_metrics
from millrace._canned.classification import BinaryHead as _BinaryHead
from millrace._canned.classification import MultiClassHead as _MultiClassHead
from millrace._canned.combined import DNNLinearCombinedEstimator
from millrace._canned.dnn import DNNEstimator
from millrace._canned.linear import LinearEstimator
from millrace._canned.logit_functions import (
    call_logit_fn,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
)
from millrace._canned.multi_label import MultiLabelHead as _MultiLabelHead
from millrace._canned.regression import RegressionHead as _RegressionHead
from millrace._estimators.early_stopping import (
    make_early_stopping_hook,
    read_eval_metrics,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from millrace._measures.losses import Reduction as _Reduction
from millrace._ops.arithmetic import sigmoid as _sigmoid
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits as _sigmoid_cross_entropy_with_logits,
)
from millrace._supervised.clipped import clip_gradients_by_norm


def binary_classification_head(
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn=None,
    name=None,
):
    """The head of two classes, for one logit.

    Args:
      weight_column: the key of a feature with a weight for each example, or a numeric_column.
      thresholds: numbers between 0 and 1 at which accuracy, precision and recall are measured too.
      label_vocabulary: both labels, strings; they are numbers from 0 to 1 if None.
      loss_reduction: one of tf.losses.Reduction, but NONE.
      loss_fn: a function of labels and logits that gives a loss for each example, of shape [batch, 1].
      name: of the head; what summaries and metrics are called ends with it.

    Raises:
      ValueError: for settings that are none of these.
    """
    return _BinaryHead(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_class_head(
    n_classes,
    weight_column=None,
    label_vocabulary=None,
    loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn=None,
    name=None,
):
    """The head of three or more classes of which an example has one, for as many logits.

    Arguments and errors as for binary_classification_head.
    """
    return _MultiClassHead(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def multi_label_head(
    n_classes,
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn=None,
    classes_for_class_based_metrics=None,
    name=None,
):
    """The head of two or more classes of which an example may have any, for as many logits.

    Labels are a matrix of zeros and ones, or a SparseTensor of classes.

    Args:
      classes_for_class_based_metrics: numbers or labels of classes that are measured by themselves too.
      Others, and errors: as for binary_classification_head.
    """
    return _MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


def regression_head(
    weight_column=None,
    label_dimension=1,
    loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn=None,
    inverse_link_fn=None,
    name=None,
):
    """The head of numbers, for `label_dimension` logits.

    Args:
      loss_fn: a function of labels and logits that gives losses of their shape.
      inverse_link_fn: a function of the logits that gives the predictions; these are the logits if None.
      Others, and errors: as for binary_classification_head.
    """
    return _RegressionHead(
        weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name
    )


def logistic_regression_head(
    weight_column=None, loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE, name=None
):
    """The head of a number between 0 and 1 for each example, by a sigmoid of one logit.

    Labels are numbers from 0 to 1, of shape [batch, 1]. Arguments as for binary_classification_head.
    """

    def loss(labels, logits):
        return _sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return _RegressionHead(weight_column, 1, loss_reduction, loss, _sigmoid, name)

"""tf.metrics: how good predictions are over many steps; each is a value and an update to run."""

from millrace._measures.counts import (
    false_negatives,
    false_positives,
    precision,
    recall,
    true_negatives,
    true_positives,
)
from millrace._measures.means import (
    accuracy,
    mean,
    mean_absolute_error,
    mean_iou,
    mean_per_class_accuracy,
    mean_relative_error,
    mean_squared_error,
    mean_tensor,
    percentage_below,
    root_mean_squared_error,
)
from millrace._measures.thresholds import (
    auc,
    false_negatives_at_thresholds,
    false_positives_at_thresholds,
    precision_at_thresholds,
    recall_at_thresholds,
    true_negatives_at_thresholds,
    true_positives_at_thresholds,
)

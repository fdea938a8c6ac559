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
    mean_cosine_distance,
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
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    true_negatives_at_thresholds,
    true_positives_at_thresholds,
)
from millrace._measures.top_predictions import (
    average_precision_at_k,
    precision_at_k,
    precision_at_top_k,
    recall_at_k,
    recall_at_top_k,
    sparse_average_precision_at_k,
    sparse_precision_at_k,
)

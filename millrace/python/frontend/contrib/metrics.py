"""tf.contrib.metrics: metrics with predictions before labels, and many metrics together."""

from millrace._measures.agreements import (
    cohen_kappa,
    count,
    streaming_covariance,
    streaming_false_negative_rate,
    streaming_false_positive_rate,
    streaming_pearson_correlation,
)
from millrace._measures.confusion import confusion_matrix
from millrace._measures.means import mean as streaming_mean
from millrace._measures.means import mean_tensor as streaming_mean_tensor
from millrace._measures.means import percentage_below as streaming_percentage_less
from millrace._measures.streaming import (
    accuracy,
    aggregate_metric_map,
    aggregate_metrics,
    streaming_accuracy,
    streaming_auc,
    streaming_false_negatives,
    streaming_false_negatives_at_thresholds,
    streaming_false_positives,
    streaming_false_positives_at_thresholds,
    streaming_mean_absolute_error,
    streaming_mean_iou,
    streaming_mean_relative_error,
    streaming_mean_squared_error,
    streaming_precision,
    streaming_precision_at_thresholds,
    streaming_recall,
    streaming_recall_at_thresholds,
    streaming_root_mean_squared_error,
    streaming_true_negatives,
    streaming_true_negatives_at_thresholds,
    streaming_true_positives,
    streaming_true_positives_at_thresholds,
)
from millrace._ops.sets import set_difference, set_intersection, set_size, set_union

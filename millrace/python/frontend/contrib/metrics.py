"""tf.contrib.metrics: metrics with predictions before labels, and many metrics together."""

from millrace._measures.agreements import (
    cohen_kappa,
    count,
    streaming_covariance,
    streaming_false_negative_rate,
    streaming_false_positive_rate,
    streaming_pearson_correlation,
)
from millrace._measures.all_values import (
    auc_with_confidence_intervals,
    streaming_concat,
    streaming_dynamic_auc,
)
from millrace._measures.best_thresholds import (
    f1_score,
    precision_at_recall,
    precision_recall_at_equal_thresholds,
    recall_at_precision,
    streaming_curve_points,
)
from millrace._measures.confusion import confusion_matrix
from millrace._measures.histograms import auc_using_histogram
from millrace._measures.means import mean as streaming_mean
from millrace._measures.means import mean_tensor as streaming_mean_tensor
from millrace._measures.means import percentage_below as streaming_percentage_less
from millrace._measures.streaming import (
    accuracy,
    aggregate_metric_map,
    aggregate_metrics,
    sparse_recall_at_top_k,
    streaming_accuracy,
    streaming_auc,
    streaming_false_negative_rate_at_thresholds,
    streaming_false_negatives,
    streaming_false_negatives_at_thresholds,
    streaming_false_positive_rate_at_thresholds,
    streaming_false_positives,
    streaming_false_positives_at_thresholds,
    streaming_mean_absolute_error,
    streaming_mean_cosine_distance,
    streaming_mean_iou,
    streaming_mean_relative_error,
    streaming_mean_squared_error,
    streaming_precision,
    streaming_precision_at_thresholds,
    streaming_recall,
    streaming_recall_at_k,
    streaming_recall_at_thresholds,
    streaming_root_mean_squared_error,
    streaming_sensitivity_at_specificity,
    streaming_sparse_average_precision_at_k,
    streaming_sparse_average_precision_at_top_k,
    streaming_sparse_precision_at_k,
    streaming_sparse_precision_at_top_k,
    streaming_sparse_recall_at_k,
    streaming_specificity_at_sensitivity,
    streaming_true_negatives,
    streaming_true_negatives_at_thresholds,
    streaming_true_positives,
    streaming_true_positives_at_thresholds,
)
from millrace._ops.sets import set_difference, set_intersection, set_size, set_union

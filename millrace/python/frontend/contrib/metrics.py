"""tf.contrib.metrics: metrics with predictions before labels, and many metrics together."""

from millrace._measures.confusion import confusion_matrix
from millrace._measures.means import mean as streaming_mean
from millrace._measures.means import percentage_below as streaming_percentage_less
from millrace._measures.streaming import (
    accuracy,
    aggregate_metric_map,
    aggregate_metrics,
    streaming_accuracy,
    streaming_auc,
    streaming_false_negatives,
    streaming_false_positives,
    streaming_mean_absolute_error,
    streaming_mean_squared_error,
    streaming_precision,
    streaming_recall,
    streaming_root_mean_squared_error,
    streaming_true_negatives,
    streaming_true_positives,
)

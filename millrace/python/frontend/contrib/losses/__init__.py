"""tf.contrib.losses: losses with predictions before labels."""

from millrace._measures.contrib_losses import (
    absolute_difference,
    compute_weighted_loss,
    cosine_distance,
    get_total_loss,
    hinge_loss,
    log_loss,
    mean_pairwise_squared_error,
    mean_squared_error,
    sigmoid_cross_entropy,
    softmax_cross_entropy,
    sparse_softmax_cross_entropy,
)
from millrace._measures.losses import add_loss, get_losses, get_regularization_losses
from millrace.contrib.losses import metric_learning

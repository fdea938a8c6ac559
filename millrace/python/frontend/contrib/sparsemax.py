"""tf.contrib.sparsemax: probabilities of which many are 0, and their loss."""

from millrace._ops.sparsemax import sparsemax, sparsemax_loss

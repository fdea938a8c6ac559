"""tf.contrib.losses.metric_learning: losses of embeddings, by who belongs together."""

from millrace._measures.metric_learning import (
    contrastive_loss,
    npairs_loss,
    triplet_semihard_loss,
)

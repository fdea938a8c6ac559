"""tf.contrib.tensorboard.plugins.projector: rows of variables as points that TensorBoard shows."""

from millrace._summaries.projector import (
    EmbeddingInfo,
    EmbeddingMetadata,
    ProjectorConfig,
    SpriteMetadata,
    visualize_embeddings,
)

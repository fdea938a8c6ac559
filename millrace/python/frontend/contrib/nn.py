"""tf.contrib.nn: activations, noise, and losses with logits before labels."""

from millrace._gen import nth_element
from millrace._ops.contrib_nn import (
    alpha_dropout,
    deprecated_flipped_sigmoid_cross_entropy_with_logits,
    deprecated_flipped_softmax_cross_entropy_with_logits,
    deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
    scaled_softplus,
)
from millrace._ops.convolutions import conv1d_transpose

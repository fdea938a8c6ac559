"""tf.nn: what layers are made of."""

from millrace._gen import elu, l2_loss, relu, relu6, selu, softplus, softsign
from millrace._ops.arithmetic import sigmoid, tanh
from millrace._ops.candidates import *
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.layers import (
    bias_add,
    crelu,
    dropout,
    in_top_k,
    leaky_relu,
    log_softmax,
    relu_layer,
    softmax,
    swish,
    top_k,
    xw_plus_b,
)
from millrace._ops.normalization import batch_normalization, l2_normalize, moments, zero_fraction

"""tf.nn: what layers are made of."""

from millrace._gen import (
    conv3d_backprop_filter_v2,
    elu,
    fractional_avg_pool,
    fractional_max_pool,
    l2_loss,
    relu,
    relu6,
    selu,
    softplus,
    softsign,
)
from millrace._ops.arithmetic import sigmoid, tanh
from millrace._ops.candidates import *
from millrace._ops.convolutions import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    convolution,
    dilation2d,
    erosion2d,
)
from millrace._ops.cross_entropies import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from millrace._ops.ctc import *
from millrace._ops.depthwise import (
    depthwise_conv2d,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from millrace._ops.depthwise import (
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter,
)
from millrace._ops.depthwise import (
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input,
)
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.sparse_embeddings import embedding_lookup_sparse, safe_embedding_lookup_sparse
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
from millrace._ops.layers_by_rank import avg_pool_v2, conv_transpose, max_pool_v2
from millrace._ops.losses_of_batches import (
    compute_average_loss,
    log_poisson_loss,
    scale_regularization_loss,
)
from millrace._ops.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    fused_batch_norm,
    l2_normalize,
    local_response_normalization,
    lrn,
    moments,
    zero_fraction,
)
from millrace._ops.pools import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool_with_argmax,
    pool,
)
from millrace._ops.rearranging import depth_to_space, space_to_batch, space_to_depth
from millrace._ops.volumes import avg_pool3d, conv3d, conv3d_transpose, max_pool3d
from millrace._ops.weighed_moments import (
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from millrace._recurrent import rnn_cell
from millrace._recurrent.dynamic import bidirectional_dynamic_rnn, dynamic_rnn, raw_rnn
from millrace._recurrent.unrolling import (
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
)

conv3d_backprop_filter = conv3d_backprop_filter_v2

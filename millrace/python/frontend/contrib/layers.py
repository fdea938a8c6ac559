"""tf.contrib.layers: layers, initializers and regularizers with contrib's names and defaults."""

from millrace._columns.older_ids import (
    sparse_column_with_hash_bucket,
    sparse_column_with_integerized_feature,
    sparse_column_with_keys,
    sparse_column_with_vocabulary_file,
    weighted_sparse_column,
)
from millrace._columns.older_layers import (
    check_feature_columns,
    create_feature_spec_for_parsing,
    infer_real_valued_columns,
    input_from_feature_columns,
    parse_feature_columns_from_examples,
    transform_features,
    weighted_sum_from_feature_columns,
)
from millrace._columns.older_numbers import bucketized_column, crossed_column, real_valued_column
from millrace._columns.older_tables import (
    embedding_column,
    one_hot_column,
    shared_embedding_columns,
)
from millrace._layers.contrib_convolutions import (
    avg_pool2d,
    convolution,
    convolution2d,
    convolution2d_transpose,
    max_pool2d,
    separable_convolution2d,
)
from millrace._layers.contrib_encoders import (
    bow_encoder,
    dense_to_sparse,
    embed_sequence,
    embedding_lookup_unique,
)
from millrace._layers.contrib_layers import (
    batch_norm,
    dropout,
    elu,
    flatten,
    fully_connected,
    linear,
    relu,
    relu6,
)
from millrace._layers.contrib_legacy import legacy_fully_connected, legacy_linear, legacy_relu
from millrace._layers.contrib_normalization import group_norm, instance_norm, layer_norm
from millrace._layers.contrib_shapes import (
    bias_add,
    images_to_sequence,
    maxout,
    one_hot_encoding,
    pool,
    repeat,
    scale_gradient,
    sequence_to_images,
    softmax,
    spatial_softmax,
    stack,
    unit_norm,
)
from millrace._layers.contrib_volumes import (
    avg_pool3d,
    convolution1d,
    convolution2d_in_plane,
    convolution3d,
    convolution3d_transpose,
    max_pool3d,
)
from millrace._layers.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)
from millrace._ops.sparse_crosses import DEFAULT_HASH_KEY as SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY
from millrace._ops.sparse_embeddings import safe_embedding_lookup_sparse
from millrace._state.scaled_initializers import (
    contrib_variance_scaling_initializer as variance_scaling_initializer,
)
from millrace._state.scaled_initializers import xavier_initializer
from millrace._summaries.collected import (
    summarize_activation,
    summarize_activations,
    summarize_biases,
    summarize_collection,
    summarize_tensor,
    summarize_tensors,
    summarize_variables,
    summarize_weights,
)
from millrace._supervised.optimized_loss import (
    OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES,
    adaptive_clipping_fn,
    optimize_loss,
)

xavier_initializer_conv2d = xavier_initializer
conv1d = convolution1d
conv2d = convolution2d
conv2d_in_plane = convolution2d_in_plane
conv3d = convolution3d
conv3d_transpose = convolution3d_transpose
conv2d_transpose = convolution2d_transpose
separable_conv2d = separable_convolution2d

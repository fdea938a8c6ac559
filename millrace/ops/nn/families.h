// The families of ops in this room: what layers of neural networks are made of, beyond arithmetic.
//
// A family is a source file with its ops as values; register_nn adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_nn(OpRegistry& ops);

// What bends a layer's output, element by element, and the gradients of it: Elu, Selu, LeakyRelu,
// Softsign; ReluGrad, Relu6Grad, SoftplusGrad …
Status register_activations(OpRegistry& ops);

// A value per channel: BiasAdd, BiasAddV1, BiasAddGrad.
Status register_biases(OpRegistry& ops);

// Rows as probabilities: Softmax, LogSoftmax, and the losses SoftmaxCrossEntropyWithLogits and
// SparseSoftmaxCrossEntropyWithLogits.
Status register_softmaxes(OpRegistry& ops);

// The largest of each row: TopK, TopKV2, ApproxTopK, InTopK, InTopKV2, NthElement.
Status register_rankings(OpRegistry& ops);

// From one order of axes to another: DataFormatDimMap, DataFormatVecPermute.
Status register_data_formats(OpRegistry& ops);

// Filters that move over images and volumes: Conv2D, DepthwiseConv2dNative, Conv3D, and both
// gradients of each.
Status register_convolutions(OpRegistry& ops);

// Of images or volumes, with any number of batch axes: Conv.
Status register_batched_convolutions(OpRegistry& ops);

// Filters with what follows them: _FusedConv2D.
Status register_fused_convolutions(OpRegistry& ops);

// The largest of each window: MaxPool, MaxPoolV2, and their gradients of both orders.
Status register_max_pools(OpRegistry& ops);

// The largest of each window and where it is: MaxPoolWithArgmax, and its gradients of both orders.
Status register_argmax_pools(OpRegistry& ops);

// The average of each window: AvgPool, AvgPoolGrad.
Status register_average_pools(OpRegistry& ops);

// Windows of drawn sizes: FractionalMaxPool, FractionalAvgPool.
Status register_fractional_pools(OpRegistry& ops);

// FractionalMaxPoolGrad, FractionalAvgPoolGrad.
Status register_fractional_pool_gradients(OpRegistry& ops);

// The largest of windows that a filter raises: Dilation2D and both gradients of it.
Status register_dilations(OpRegistry& ops);

// Channels brought to a mean and a variance: FusedBatchNorm and its gradient, all three versions.
Status register_batch_norms(OpRegistry& ops);

// By means and variances that are given: BatchNormWithGlobalNormalization and its gradient.
Status register_global_norms(OpRegistry& ops);

// Channels divided by what their neighbours have: LRN, LRNGrad.
Status register_local_responses(OpRegistry& ops);

}  // namespace millrace

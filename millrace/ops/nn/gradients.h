// The gradients of the ops of this room. Each stands in the `.grad` of its op.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

Status bias_add(GradContext& g);
Status bias_add_v1(GradContext& g);
Status bias_add_grad(GradContext& g);

Status softmax(GradContext& g);
Status log_softmax(GradContext& g);
// Both give a loss and its gradient by the logits: the second output has a gradient as well.
Status cross_entropy(GradContext& g);
Status sparse_cross_entropy(GradContext& g);

Status elu(GradContext& g);
Status selu(GradContext& g);
Status softsign(GradContext& g);
Status leaky_relu(GradContext& g);
// Of the gradients above, and of Relu and its kin.
Status stepped(GradContext& g);  // of ReluGrad and Relu6Grad
Status elu_grad(GradContext& g);
Status selu_grad(GradContext& g);
Status softplus_grad(GradContext& g);
Status softsign_grad(GradContext& g);
Status leaky_relu_grad(GradContext& g);

Status top(GradContext& g);             // of TopK and TopKV2
Status top_along_axis(GradContext& g);  // of ApproxTopK

// Each direction of a convolution has the two others for gradients.
Status convolution(GradContext& g);
Status convolution_by_images(GradContext& g);
Status convolution_by_filter(GradContext& g);
Status volume_convolution(GradContext& g);
Status volume_convolution_by_images(GradContext& g);
Status volume_convolution_by_filter(GradContext& g);
Status depthwise(GradContext& g);
Status depthwise_by_images(GradContext& g);
Status depthwise_by_filter(GradContext& g);

// Of both versions of each.
Status max_pool(GradContext& g);
Status max_pool_grad(GradContext& g);
Status max_pool_grad_grad(GradContext& g);
Status max_pool_with_argmax(GradContext& g);
Status max_pool_grad_with_argmax(GradContext& g);
Status max_pool_grad_grad_with_argmax(GradContext& g);
Status average_pool(GradContext& g);
Status average_pool_grad(GradContext& g);
Status fractional_max_pool(GradContext& g);
Status fractional_avg_pool(GradContext& g);
Status volume_max_pool(GradContext& g);
Status volume_max_pool_grad(GradContext& g);
Status volume_max_pool_grad_grad(GradContext& g);
Status volume_average_pool(GradContext& g);
Status volume_average_pool_grad(GradContext& g);

// Of all three versions.
Status batch_norm(GradContext& g);
Status batch_norm_grad(GradContext& g);

Status local_response(GradContext& g);
Status dilation(GradContext& g);

}  // namespace millrace::grad

// The gradients of tensor arrays: to each array belongs one of gradients, which is written where
// the array is read and read where it is written. Who calls for gradients tells it apart from those
// of others; flows order both, in the other direction.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace {

Status array_read_gradient(GradContext& g);
Status array_write_gradient(GradContext& g);
Status array_gather_gradient(GradContext& g);
Status array_scatter_gradient(GradContext& g);
Status array_concat_gradient(GradContext& g);
Status array_split_gradient(GradContext& g);
// Of the array of gradients itself: what goes to its flow goes to that which it waited for.
Status array_grad_gradient(GradContext& g);

}  // namespace millrace

// The gradients of the ops of this room. Each stands in the `.grad` of its op.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

// What arrives at each output goes on to the input of the same slot, slices as slices.
Status pass(GradContext& g);
Status prevented(GradContext& g);

// The same elements under another shape: Reshape, ExpandDims, Squeeze.
Status reshaped(GradContext& g);
Status transpose(GradContext& g);
Status reverse(GradContext& g);
Status tile(GradContext& g);
Status pad(GradContext& g);
Status broadcast_to(GradContext& g);

Status fill(GradContext& g);

Status slice(GradContext& g);
Status strided_slice(GradContext& g);
Status strided_slice_grad(GradContext& g);

Status concat(GradContext& g);
Status concat_v2(GradContext& g);
Status split(GradContext& g);
Status split_v(GradContext& g);
Status pack(GradContext& g);
Status unpack(GradContext& g);

Status gather(GradContext& g);
Status gather_v2(GradContext& g);

}  // namespace millrace::grad

// The gradients of the ops of this room, as far as they are more than a line. Each stands in the
// `.grad` of its op.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

// Of y = f(x), by f'(x) or what it is in terms of y.
Status neg(GradContext& g);
Status abs(GradContext& g);
Status sign(GradContext& g);
Status square(GradContext& g);
Status reciprocal(GradContext& g);
Status sqrt(GradContext& g);
Status rsqrt(GradContext& g);
Status exp(GradContext& g);
Status expm1(GradContext& g);
Status log(GradContext& g);
Status log1p(GradContext& g);
Status erf(GradContext& g);
Status erfc(GradContext& g);
Status lgamma(GradContext& g);
Status tanh(GradContext& g);
Status sigmoid(GradContext& g);
Status sin(GradContext& g);
Status cos(GradContext& g);
Status tan(GradContext& g);
Status relu(GradContext& g);
Status relu6(GradContext& g);
Status softplus(GradContext& g);
// Of z = y's gradient from y and what arrives at it.
Status tanh_grad(GradContext& g);
Status sigmoid_grad(GradContext& g);
Status sqrt_grad(GradContext& g);
Status rsqrt_grad(GradContext& g);
Status reciprocal_grad(GradContext& g);

// Of z = f(x, y), which broadcast.
Status add(GradContext& g);
Status sub(GradContext& g);
Status mul(GradContext& g);
Status div(GradContext& g);
Status div_no_nan(GradContext& g);
Status floor_mod(GradContext& g);
Status truncate_mod(GradContext& g);
Status squared_difference(GradContext& g);
Status maximum(GradContext& g);
Status minimum(GradContext& g);
Status pow(GradContext& g);
Status atan2(GradContext& g);
Status add_n(GradContext& g);

Status matmul(GradContext& g);
Status batch_matmul(GradContext& g);

Status sum(GradContext& g);
Status mean(GradContext& g);
Status extreme(GradContext& g);  // of Max and Min
Status unsorted_segment_sum(GradContext& g);
Status l2_loss(GradContext& g);
Status cumsum(GradContext& g);

Status select(GradContext& g);
Status select_v2(GradContext& g);
Status cast(GradContext& g);

// x, or its conjugate if it is complex.
Endpoint conjugate(GradContext& g, Endpoint x);

}  // namespace millrace::grad

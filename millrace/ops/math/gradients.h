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
Status batch_matmul_of_types(GradContext& g);
Status mixed_matmul(GradContext& g);

Status sum(GradContext& g);
Status mean(GradContext& g);
Status extreme(GradContext& g);  // of Max and Min
Status prod(GradContext& g);
Status euclidean_norm(GradContext& g);
Status l2_loss(GradContext& g);
Status cumsum(GradContext& g);
Status cumprod(GradContext& g);
Status cumulative_logsumexp(GradContext& g);

// Of folding rows by segments.
Status segment_sum(GradContext& g);
Status segment_mean(GradContext& g);
Status segment_prod(GradContext& g);
Status segment_extreme(GradContext& g);
Status unsorted_segment_sum(GradContext& g);
Status unsorted_segment_prod(GradContext& g);
Status unsorted_segment_extreme(GradContext& g);
Status sparse_segments(GradContext& g);
Status sparse_segment_grads(GradContext& g);

// Of the functions of trigonometry.cc, special.cc, gammas.cc and bessels.cc.
Status asin(GradContext& g);
Status acos(GradContext& g);
Status atan(GradContext& g);
Status sinh(GradContext& g);
Status cosh(GradContext& g);
Status asinh(GradContext& g);
Status acosh(GradContext& g);
Status atanh(GradContext& g);
Status digamma(GradContext& g);
Status erfinv(GradContext& g);
Status ndtri(GradContext& g);
Status xdivy(GradContext& g);
Status xlogy(GradContext& g);
Status xlog1py(GradContext& g);
Status igamma(GradContext& g);
Status igammac(GradContext& g);
Status zeta(GradContext& g);
Status polygamma(GradContext& g);
Status betainc(GradContext& g);
Status bessel_i0(GradContext& g);
Status bessel_i0e(GradContext& g);
Status bessel_i1(GradContext& g);
Status bessel_i1e(GradContext& g);
Status bessel_j0(GradContext& g);
Status bessel_j1(GradContext& g);
Status bessel_y0(GradContext& g);
Status bessel_y1(GradContext& g);
Status bessel_k0(GradContext& g);
Status bessel_k0e(GradContext& g);
Status bessel_k1(GradContext& g);
Status bessel_k1e(GradContext& g);

// Of complex numbers and their parts.
Status conj(GradContext& g);
Status real(GradContext& g);
Status imag(GradContext& g);
Status angle(GradContext& g);
Status complex_abs(GradContext& g);
Status complex(GradContext& g);

Status clip_by_value(GradContext& g);
Status cross(GradContext& g);
Status einsum(GradContext& g);

// Of rounding, as if it did nothing.
Status straight_through(GradContext& g);
Status quantize_v4(GradContext& g);
Status fake_quant_args(GradContext& g);
Status fake_quant_vars(GradContext& g);

Status select(GradContext& g);
Status select_v2(GradContext& g);
Status cast(GradContext& g);

// x, or its real part if it is complex.
Endpoint as_real(GradContext& g, Endpoint x);
// x, or its conjugate if it is complex.
Endpoint conjugate(GradContext& g, Endpoint x);

}  // namespace millrace::grad

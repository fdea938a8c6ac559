// Binomial samples, number by number as TensorFlow draws them.
#pragma once

#include "millrace/op/kernel.h"
#include "millrace/ops/loops/philox_blocks.h"

namespace millrace {

// What counts and probs broadcast to, with which `shape` must end.
// Errors: INVALID_ARGUMENT for shapes that do not fit.
Result<Shape> binomial_batch(const Shape& shape, const Tensor& counts, const Tensor& probs);

// Samples of `dtype` of the wanted shape, which must end with what counts and probs, of one type,
// broadcast to; an element has blocks of its own.
// Errors: INVALID_ARGUMENT for shapes that do not fit; CANCELLED.
Result<Tensor> draw_binomial(KernelContext& context, const Shape& shape, const Tensor& counts,
                             const Tensor& probs, PhiloxBlocks blocks);

}  // namespace millrace

// What ops that draw numbers read from their inputs: how many, of which range, and where the random
// bits begin.
#pragma once

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/random/distributions.h"

namespace millrace {

// Where two seeds begin, of which each bit counts. Errors: INVALID_ARGUMENT for another shape.
Result<PhiloxBlocks> seeded_blocks(const Tensor& seed);
// The shape that input 0, a vector, says.
Result<Shape> wanted_shape(KernelContext& context);
// The range [low, high) of integers. Errors: INVALID_ARGUMENT if it has none, unless none is
// wanted.
Result<IntegerRange> wanted_range(const Tensor& low, const Tensor& high, const Shape& shape);
// Blocks that are set aside for so many elements.
inline uint64_t blocks_for(int64_t elements) {
  return static_cast<uint64_t>(elements) * kMostBlocks;
}
// A tensor for classes of "logits, num_samples": a row of samples for each of logits.
Result<Tensor> classes_output(KernelContext& context);
Status infer_classes(InferContext& context);

}  // namespace millrace

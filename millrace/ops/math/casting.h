// Cast, for ops that take operands of several types: what the op Cast makes of a tensor.
#pragma once

#include "millrace/op/kernel.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// `count` elements, one after the other; nothing may overlap.
using CastLoop = void (*)(const void* from, void* to, int64_t count);

// Between numbers, and to and from bool; null for other types.
CastLoop cast_loop_for(DType from, DType to);
// The tensor's elements as those of another type, by all threads of the step's pool if there are
// many; the same tensor if it has that type. `loop` is that of both types.
// Errors: CANCELLED, RESOURCE_EXHAUSTED.
Result<Tensor> cast_by(CastLoop loop, KernelContext& context, const Tensor& input, DType to);

}  // namespace millrace

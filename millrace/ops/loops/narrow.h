// Half and bfloat16 are computed as float where an op is more than a loop: its inputs are widened
// first, what comes out is narrowed once.
#pragma once

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What elements of a type are computed in: float for half and bfloat16, else the type itself.
DType wide_type(DType dtype);
// The tensor in that type; the same one if it is in it.
Result<Tensor> widened(const Tensor& tensor, CancelProbe probe);
// A tensor of floats as half or bfloat16; the same one if it has that type.
Result<Tensor> narrowed(const Tensor& tensor, DType dtype, CancelProbe probe);

}  // namespace millrace

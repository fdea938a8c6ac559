// Loops of the scattering ops besides sums: products, quotients, the smaller and the larger.
#pragma once

#include "millrace/ops/loops/elementwise.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Null if the type has none. Integers wrap around; quotients of integers go towards zero, and a
// divisor that is 0 must have been refused before.
cpu::BinaryLoop product_loop(DType dtype);
cpu::BinaryLoop quotient_loop(DType dtype);
// The first of both where neither is smaller or larger.
cpu::BinaryLoop minimum_loop(DType dtype);
cpu::BinaryLoop maximum_loop(DType dtype);

// Whether an element of a tensor of numbers is 0.
bool has_zero(const Tensor& tensor);

}  // namespace millrace

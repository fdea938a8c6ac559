// Functions of two tensors, element by element with broadcasting: arithmetic, comparisons, logic;
// and AddN, the sum of many tensors of one shape.
#pragma once

#include "millrace/op/registry.h"
#include "millrace/ops/elementwise.h"

namespace millrace {

// The loops of x + y and x - y, for ops that update something; null if the type is no number.
cpu::BinaryLoop addition_loop(DType dtype);
cpu::BinaryLoop subtraction_loop(DType dtype);

Status register_arithmetic(OpRegistry& ops);
Status register_comparisons(OpRegistry& ops);

}  // namespace millrace

// The loops of x + y and x - y: of the ops that add, and of those that update something in place.
#pragma once

#include "millrace/ops/loops/elementwise.h"

namespace millrace::cpu {

// Null if the type is no number. Integers wrap around.
BinaryLoop addition_loop(DType dtype);
BinaryLoop subtraction_loop(DType dtype);

}  // namespace millrace::cpu

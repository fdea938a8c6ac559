#include "millrace/ops/loops/sums.h"

namespace millrace::cpu {

BinaryLoop addition_loop(DType dtype) {
  return binary_loop_for<Number>(dtype, [](auto x, auto y) { return add(x, y); });
}

BinaryLoop subtraction_loop(DType dtype) {
  return binary_loop_for<Number>(dtype, [](auto x, auto y) { return subtract(x, y); });
}

}  // namespace millrace::cpu

// Products of float32 matrices by oneDNN, on the thread that calls.
#pragma once

#include <cstdint>

#include "millrace/base/status.h"

namespace millrace::onednn {

// c = a * b, row-major: c is rows x columns, a is rows x inner, b is inner x columns. A transposed
// operand lies in memory the other way round. A stride is how far one row, as it lies in memory, is
// from the next.
struct Product {
  int64_t rows = 0, inner = 0, columns = 0;
  bool a_transposed = false, b_transposed = false;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
};

// False if oneDNN is not installed. The first call loads it.
bool can_multiply();

// Requires can_multiply(). Errors: RESOURCE_EXHAUSTED.
Status multiply(const Product& product, const float* a, const float* b, float* c);

}  // namespace millrace::onednn

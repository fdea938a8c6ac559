// Tensors divided by counts: means from sums. Integers are divided towards zero.
#pragma once

#include <span>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace::cpu {

// Every element divided by `count` > 0, in place if nobody else holds the tensor.
Result<Tensor> divided(Tensor sum, int64_t count);
// Row i divided by counts[i] > 0. Requires as many counts as rows.
Result<Tensor> rows_divided(Tensor rows, std::span<const int64_t> counts);

}  // namespace millrace::cpu

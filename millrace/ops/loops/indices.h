// Indices into the rows of a tensor, checked before anything is read or written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// "[1,0]".
std::string index_text(std::span<const int64_t> index);
// Where element `position` of a tensor of these dims is, likewise; "" for a scalar.
std::string place_text(std::span<const int64_t> dims, int64_t position);

// The elements of an integer tensor of any shape, all of them in [0, limit).
// Errors: INVALID_ARGUMENT "indices[1,0] = 5 is not in [0, 2)".
Result<std::vector<int64_t>> read_indices(const Tensor& indices, int64_t limit);

}  // namespace millrace

// Tensors of variants as checkpoints hold them: each variant a message of its own.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace::wire {

// One for each element of a tensor of variants.
std::vector<std::string> variant_messages(const Tensor& variants);
// Errors: INVALID_ARGUMENT for what is no such message; RESOURCE_EXHAUSTED.
Result<Tensor> variants_of_messages(const Shape& shape, const std::vector<std::string>& messages);

}  // namespace millrace::wire

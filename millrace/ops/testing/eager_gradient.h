// Asks an op for its gradient at given values and runs what it adds at once, without a graph: for
// the sweep of all ops, which holds gradients against finite differences.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "millrace/op/gradient.h"
#include "millrace/op/registry.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What a gradient function is told of shapes and values before anything runs.
enum class Told : uint8_t { everything, nothing };

// The gradient by each input, dense; none where the op gives none. `attrs` must be complete.
// Errors: those of the op's gradient, and of the kernels that it asks for.
Result<std::vector<std::optional<Tensor>>> eager_gradient(const OpRegistry& ops,
                                                          std::string_view op, const Attrs& attrs,
                                                          std::vector<Tensor> inputs,
                                                          std::vector<Tensor> outputs,
                                                          std::vector<Tensor> arriving, Told told);

}  // namespace millrace

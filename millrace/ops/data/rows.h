// Tensors as rows of a larger one: what batches are made of, and cut into again.
#pragma once

#include <span>
#include <vector>

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// Row `index` along the first axis, as a view. Requires rank >= 1 and an index inside.
Result<Tensor> row_of(const Tensor& tensor, int64_t index);

// Component `component` of all elements as rows of one tensor: a view if they lie one behind the
// other in memory already. Errors: INVALID_ARGUMENT, in TensorFlow's words, if they differ in
// shape; RESOURCE_EXHAUSTED.
Result<Tensor> stacked(std::span<Element> elements, size_t component);

// The same with rows padded at their ends to `row` by `padding`, a scalar of their type.
// Requires rows of row's rank, none of them larger.
Result<Tensor> stacked_and_padded(std::span<Element> elements, size_t component, const Shape& row,
                                  const Tensor& padding);

}  // namespace millrace::data

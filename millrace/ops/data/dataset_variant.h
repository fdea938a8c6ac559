// How a dataset is a tensor: a scalar variant that holds it.
//
// The variant carries one byte whose buffer keeps the dataset alive (the value of a tensor is
// whatever its buffer holds). So it lives as long as tensors name it, passes through control flow,
// functions and optionals like any value, and can't be read on another task: there it is a byte.
#pragma once

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// How deep datasets may lie in each other: each takes a piece of the stack of who walks along or
// drops the last of them, and a loop could put one around the other for ever.
inline constexpr int kMostDeep = 2048;

// `depth` counts the dataset and those that lie in it.
Tensor to_variant(DatasetPtr dataset, int depth = 1);
// The greatest depth of the datasets that a tensor holds; 0 if it holds none.
int depth_in(const Tensor& tensor);
// Errors: INVALID_ARGUMENT for what is no dataset, in TensorFlow's words, or one of another task.
Result<DatasetPtr> dataset_in(const Tensor& variant);

}  // namespace millrace::data

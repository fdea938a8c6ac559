// How a dataset is a tensor: a scalar variant that holds it.
//
// The variant carries one byte whose buffer keeps the dataset alive (the value of a tensor is
// whatever its buffer holds). So it lives as long as tensors name it, passes through control flow,
// functions and optionals like any value, and can't be read on another task: there it is a byte.
#pragma once

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

Tensor to_variant(DatasetPtr dataset);
// Errors: INVALID_ARGUMENT for what is no dataset, in TensorFlow's words, or one of another task.
Result<DatasetPtr> dataset_in(const Tensor& variant);

}  // namespace millrace::data
